import { Code, ConnectError } from '@connectrpc/connect'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { RepositoryEvent } from '#gen/branchline/v1/repository_event_pb.ts'
import { RepositoryEventService } from '#gen/branchline/v1/repository_event_service_pb.ts'
import type { Api } from '../api/client.ts'
import { useApi } from '../api/client.ts'

const FIRST_WAIT_MS = 1000
const MAX_WAIT_MS = 60_000

/** The pause after a notification. Events that come meanwhile, such as many statuses, are one. */
const PAUSE_MS = 1000

/** Codes after which another attempt would fail in the same way. */
const FINAL_CODES: ReadonlySet<Code> = new Set([
  Code.NotFound,
  Code.Unauthenticated,
  Code.PermissionDenied,
])

/** Numbers that grow. */
interface Versions {
  /** Grows with each call of `onEvent`. */
  readonly version: number
  /** Grows when a status of the head was created, and after a gap in the stream. */
  readonly checks: number
}

/**
 * Follows the events of a repository while the component is there.
 *
 * @param pull number of the pull request whose events matter. Moved refs matter to every one.
 * @param head id of the commit whose statuses matter.
 * @param onEvent called after an event of the pull request, and after a gap in the stream.
 */
export function useRepositoryEvents(
  { owner, repo }: { owner: string; repo: string },
  pull: bigint,
  head: string,
  onEvent: () => void,
): Versions {
  const api = useApi()
  const [versions, setVersions] = useState<Versions>({ version: 0, checks: 0 })
  const latest = useRef({ head, onEvent })
  latest.current = { head, onEvent }
  useEffect(() => {
    const ended = new AbortController()
    const { signal } = ended
    const changed = calm(() => {
      latest.current.onEvent()
      setVersions(({ version, checks }) => ({ version: version + 1, checks: checks + 1 }))
    }, signal)
    const checked = calm(() => {
      setVersions(({ version, checks }) => ({ version, checks: checks + 1 }))
    }, signal)
    const notify = (event: RepositoryEvent | undefined) => {
      const subject = event?.subject
      if (subject?.case === 'commitStatus') {
        if (subject.value.sha === latest.current.head) checked()
      } else if (subject?.case !== 'pullRequest' || subject.value.number === pull) changed()
    }
    follow(api, { owner, repo }, notify, signal)
    return () => ended.abort()
  }, [api, owner, repo, pull])
  return versions
}

/** Returns a function that calls another at once, but not again within a pause. */
function calm(act: () => void, signal: AbortSignal): () => void {
  let isWaiting = false
  let isWanted = false
  return () => {
    if (isWaiting) {
      isWanted = true
      return
    }
    isWaiting = true
    void (async () => {
      do {
        isWanted = false
        act()
        await pause(PAUSE_MS, signal)
      } while (isWanted && !signal.aborted)
      isWaiting = false
    })()
  }
}

/**
 * Reads the stream, and connects again where it ended, until the signal.
 *
 * @param notify gets each event, and undefined after a gap.
 */
async function follow(
  { of }: Api,
  { owner, repo }: { owner: string; repo: string },
  notify: (event: RepositoryEvent | undefined) => void,
  signal: AbortSignal,
): Promise<void> {
  let cursor = ''
  let waitMs = FIRST_WAIT_MS
  while (!signal.aborted) {
    try {
      const request = { owner, repo, cursor }
      for await (const next of of(RepositoryEventService).watchRepository(request, { signal })) {
        cursor = next.cursor
        waitMs = FIRST_WAIT_MS
        if (next.event?.subject.case !== undefined) notify(next.event)
      }
    } catch (error) {
      const { code } = ConnectError.from(error)
      if (signal.aborted || FINAL_CODES.has(code)) return
      // The events after the cursor are gone, so that everything is read again.
      if (code === Code.OutOfRange || code === Code.FailedPrecondition) {
        cursor = ''
        notify(undefined)
      }
    }
    await pause(waitMs, signal)
    waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)
  }
}

function pause(timeoutMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeoutMs)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
