import { Code, ConnectError } from '@connectrpc/connect'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { RepositoryEvent } from '#gen/branchline/v1/repository_event_pb.ts'
import { RepositoryEventService } from '#gen/branchline/v1/repository_event_service_pb.ts'
import { type Api, useApi } from '../api/client.ts'
import { nextWait, pause, withinSilence } from '../api/waiting.ts'

/** The server sends a heartbeat after 25 seconds without an event. */
const MAX_SILENCE_MS = 60_000

/** The pause after a notification. Events that come meanwhile, such as many statuses, are one. */
const PAUSE_MS = 1000

/** Codes after which another attempt would fail in the same way. */
const FINAL_CODES: ReadonlySet<Code> = new Set([Code.NotFound, Code.PermissionDenied])

/** State of the event stream of a repository. */
export interface RepositoryEvents {
  /** Grows with each call of `onEvent`. */
  readonly version: number
  /** Grows when a status of the head was created, and after an interruption. */
  readonly checks: number
  /** Whether the connection ended, and another attempt has failed. */
  readonly isCut: boolean
}

/** A stream, and what happens with its responses. */
interface Following {
  readonly request: { readonly owner: string; readonly repo: string }
  /** Gets each event, and undefined after an interruption. */
  notify(event: RepositoryEvent | undefined): void
  setCut(isCut: boolean): void
}

/**
 * Follows the events of a repository while the component is there.
 *
 * @param number number of the issue or pull request whose events matter. Moved refs matter to every
 *   one.
 * @param head id of the commit whose statuses matter; empty for an issue.
 * @param onEvent called after an event of the conversation, and after an interruption: what the page
 *   has read meanwhile may have failed.
 */
export function useRepositoryEvents(
  { owner, repo }: { owner: string; repo: string },
  number: bigint,
  head: string,
  onEvent: () => void,
): RepositoryEvents {
  const api = useApi()
  const [versions, setVersions] = useState({ version: 0, checks: 0 })
  const [isCut, setCut] = useState(false)
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
      } else if (!isOfConversation(subject) || subject.value.number === number) changed()
    }
    follow(api, { request: { owner, repo }, notify, setCut }, signal)
    return () => ended.abort()
  }, [api, owner, repo, number])
  return { ...versions, isCut }
}

type Subject = RepositoryEvent['subject']

function isOfConversation(
  subject: Subject | undefined,
): subject is Extract<Subject, { case: 'issue' | 'pullRequest' }> {
  return subject?.case === 'issue' || subject?.case === 'pullRequest'
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
      if (failures > 0) following.notify(undefined)
      failures = 0
      following.setCut(false)
      if (next.event?.subject.case !== undefined) following.notify(next.event)
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
