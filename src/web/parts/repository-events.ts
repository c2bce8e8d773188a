import { Code, ConnectError } from '@connectrpc/connect'
import { useEffect, useRef, useState } from 'preact/hooks'
import { RepositoryEventService } from '#gen/branchline/v1/repository_event_service_pb.ts'
import type { Api } from '../api/client.ts'
import { useApi } from '../api/client.ts'

const FIRST_WAIT_MS = 1000
const MAX_WAIT_MS = 60_000

/** Codes after which another attempt would fail in the same way. */
const FINAL_CODES: ReadonlySet<Code> = new Set([
  Code.NotFound,
  Code.Unauthenticated,
  Code.PermissionDenied,
])

/**
 * Follows the events of a repository while the component is there.
 *
 * @param pull number of the pull request whose events matter. Moved refs matter to every one.
 * @param onEvent called after such an event, and after a gap in the stream.
 * @returns a number that grows with each call of `onEvent`.
 */
export function useRepositoryEvents(
  { owner, repo }: { owner: string; repo: string },
  pull: bigint,
  onEvent: () => void,
): number {
  const api = useApi()
  const [version, setVersion] = useState(0)
  const latest = useRef(onEvent)
  latest.current = onEvent
  useEffect(() => {
    const ended = new AbortController()
    const notify = () => {
      latest.current()
      setVersion((before) => before + 1)
    }
    follow(api, { owner, repo, pull }, notify, ended.signal)
    return () => ended.abort()
  }, [api, owner, repo, pull])
  return version
}

/** Reads the stream, and connects again where it ended, until the signal. */
async function follow(
  { of }: Api,
  { owner, repo, pull }: { owner: string; repo: string; pull: bigint },
  notify: () => void,
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
        const subject = next.event?.subject
        const isOther = subject?.case === 'pullRequest' && subject.value.number !== pull
        if (subject?.case !== undefined && !isOther) notify()
      }
    } catch (error) {
      const { code } = ConnectError.from(error)
      if (signal.aborted || FINAL_CODES.has(code)) return
      // The events after the cursor are gone, so that everything is read again.
      if (code === Code.OutOfRange || code === Code.FailedPrecondition) {
        cursor = ''
        notify()
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
