import { useEffect } from 'preact/hooks'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'

/** Each wait is twice as long as the one before. The server ends a check after 20 seconds. */
const FIRST_WAIT_MS = 1000
const MAX_WAIT_MS = 16_000

/**
 * Reads an open pull request that cannot be merged again, for a while. The server may still check
 * whether the present commits conflict, and the end of the check is no event.
 */
export function useSettledPull(pull: PullRequest | undefined, reload: () => void): void {
  const isUnsettled = pull?.state === 'open' && !pull.draft && !pull.mergeable
  const commits = `${pull?.head?.sha} ${pull?.base?.sha}`
  useEffect(() => {
    if (!isUnsettled) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const wait = (waitMs: number) => {
      timer = setTimeout(() => {
        reload()
        if (waitMs < MAX_WAIT_MS) wait(waitMs * 2)
      }, waitMs)
    }
    wait(FIRST_WAIT_MS)
    return () => clearTimeout(timer)
  }, [isUnsettled, commits, reload])
}
