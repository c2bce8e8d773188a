import { useEffect } from 'preact/hooks'
import { type PullRequest, PullRequest_Mergeability } from '#gen/branchline/v1/pull_request_pb.ts'

/** Each wait is twice as long as the one before. */
const FIRST_WAIT_MS = 2000
const MAX_WAIT_MS = 64_000

/**
 * Reads a pull request again while the server checks whether the present commits conflict. The end
 * of the check is an event. But a server that is too busy, or that stops, does not check until
 * somebody reads.
 */
export function useSettledPull(pull: PullRequest | undefined, reload: () => void): void {
  const isChecked = pull?.mergeability !== PullRequest_Mergeability.CHECKING
  const commits = `${pull?.head?.sha} ${pull?.base?.sha}`
  useEffect(() => {
    if (isChecked) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const wait = (waitMs: number) => {
      timer = setTimeout(() => {
        reload()
        wait(Math.min(waitMs * 2, MAX_WAIT_MS))
      }, waitMs)
    }
    wait(FIRST_WAIT_MS)
    return () => clearTimeout(timer)
  }, [isChecked, commits, reload])
}
