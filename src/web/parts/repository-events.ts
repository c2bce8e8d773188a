import { Code, ConnectError } from '@connectrpc/connect'
import { useEffect, useRef, useState } from 'preact/hooks'
import { RepositoryEventService } from '#gen/branchline/v1/repository_event_service_pb.ts'
import type { Api } from '../api/client.ts'
import { useApi } from '../api/client.ts'
import { nextWait, pause, withinSilence } from './waiting.ts'

/** The server sends a heartbeat after 25 seconds without an event. */
const MAX_SILENCE_MS = 60_000

/** Codes after which another attempt would fail in the same way. */
const FINAL_CODES: ReadonlySet<Code> = new Set([Code.NotFound, Code.PermissionDenied])

/** What the page knows of the events of a repository. */
export interface RepositoryEvents {
  /** Grows with each call of `onEvent`. */
  readonly version: number
  /** Whether the connection ended, and another attempt has failed. */
  readonly isCut: boolean
}

/** A stream, and what happens with its responses. */
interface Following {
  readonly request: { readonly owner: string; readonly repo: string }
  /** The pull request whose events matter. */
  readonly pull: bigint
  notify(): void
  setCut(isCut: boolean): void
}

/**
 * Follows the events of a repository while the component is there.
 *
 * @param pull number of the pull request whose events matter. Moved refs matter to every one.
 * @param onEvent called after such an event, and after an interruption: what the page has read
 *   meanwhile may have failed.
 */
export function useRepositoryEvents(
  { owner, repo }: { owner: string; repo: string },
  pull: bigint,
  onEvent: () => void,
): RepositoryEvents {
  const api = useApi()
  const [version, setVersion] = useState(0)
  const [isCut, setCut] = useState(false)
  const latest = useRef(onEvent)
  latest.current = onEvent
  useEffect(() => {
    const ended = new AbortController()
    const notify = () => {
      latest.current()
      setVersion((before) => before + 1)
    }
    follow(api, { request: { owner, repo }, pull, notify, setCut }, ended.signal)
    return () => ended.abort()
  }, [api, owner, repo, pull])
  return { version, isCut }
}

/** Reads the stream, and connects again where it ended, until the signal. */
async function follow(api: Api, following: Following, signal: AbortSignal): Promise<void> {
  let cursor = ''
  let failures = 0
  const read = async () => {
    const request = { ...following.request, cursor }
    const responses = (attempt: AbortSignal) =>
      api.of(RepositoryEventService).watchRepository(request, { signal: attempt })
    for await (const next of withinSilence(responses, MAX_SILENCE_MS, signal)) {
      cursor = next.cursor
      if (failures > 0) following.notify()
      failures = 0
      following.setCut(false)
      const subject = next.event?.subject
      const isOther = subject?.case === 'pullRequest' && subject.value.number !== following.pull
      if (subject?.case !== undefined && !isOther) following.notify()
    }
  }
  while (!signal.aborted) {
    try {
      await read()
    } catch (error) {
      const { code } = ConnectError.from(error)
      if (signal.aborted || FINAL_CODES.has(code)) return
      // The events after the cursor are gone. The next response leads to a notification.
      if (code === Code.OutOfRange || code === Code.FailedPrecondition) cursor = ''
      // A new password ends the access token, but not the session.
      if (code === Code.Unauthenticated && !(await isStillSignedIn(api))) return
    }
    failures += 1
    if (failures > 1) following.setCut(true)
    await pause(nextWait(failures), signal)
  }
}

/** Replaces the access token. A server that cannot be reached does not end the session. */
async function isStillSignedIn({ session }: Api): Promise<boolean> {
  if (!session.user) return false
  await session.renew().catch(() => undefined)
  return session.user !== undefined
}
