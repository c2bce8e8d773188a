import { Code, ConnectError } from './calls.ts'
import type { Api } from './client.ts'
import { nextWait, pause, withinSilence } from './waiting.ts'

/** The server sends a heartbeat after 25 seconds without an event. */
const MAX_SILENCE_MS = 60_000

/** The pause after a notification. Events that come meanwhile, such as many statuses, are one. */
const PAUSE_MS = 1000

/** Codes after which another attempt would fail in the same way. */
const FINAL_CODES: ReadonlySet<Code> = new Set([Code.NotFound, Code.PermissionDenied])

/** A stream that continues with a cursor, and what happens with its responses. */
interface Stream<Response extends { readonly cursor: string }> {
  /** The position to begin with; now without one. */
  readonly cursor?: string
  open(cursor: string, signal: AbortSignal): AsyncIterable<Response>
  onResponse(response: Response): void
  /** Called after an interruption: what the page has read meanwhile may have failed. */
  onResume(): void
  /** Gets whether the connection ended, and another attempt has failed. */
  setCut(isCut: boolean): void
}

/** Reads a stream, and connects again where the stream ended, until the signal. */
export async function followStream<Response extends { readonly cursor: string }>(
  api: Api,
  stream: Stream<Response>,
  signal: AbortSignal,
): Promise<void> {
  let { cursor = '' } = stream
  let failures = 0
  const read = async () => {
    const responses = (attempt: AbortSignal) => stream.open(cursor, attempt)
    for await (const next of withinSilence(responses, MAX_SILENCE_MS, signal)) {
      cursor = next.cursor
      if (failures > 0) stream.onResume()
      failures = 0
      stream.setCut(false)
      stream.onResponse(next)
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
    if (failures > 1) stream.setCut(true)
    await pause(nextWait(failures), signal)
  }
}

/** Replaces the access token. A server that cannot be reached does not end the session. */
async function isStillSignedIn({ session }: Api): Promise<boolean> {
  if (!session.user) return false
  await session.renew().catch(() => undefined)
  return session.user !== undefined
}

/** Returns a function that calls another at once, but not again within a pause. */
export function calm(act: () => void, signal: AbortSignal): () => void {
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
