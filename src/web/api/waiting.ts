const FIRST_WAIT_MS = 1000
const MAX_WAIT_MS = 10_000

/**
 * Returns how long to wait after a number of failed attempts in succession. The waits of pages
 * differ by chance, so that they do not all come back to a restarted server at once.
 */
export function nextWait(failures: number): number {
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), MAX_WAIT_MS)
  return waitMs * (0.5 + Math.random() / 2)
}

/** Resolves after a time, when the browser is online again, or when the signal aborts. */
export function pause(timeoutMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      removeEventListener('online', done)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, timeoutMs)
    addEventListener('online', done)
    signal?.addEventListener('abort', done)
  })
}

/**
 * Yields the responses of a stream, and ends the stream when nothing has come for a time: a machine
 * that was asleep, or a server that lost its power, ends no connection.
 */
export async function* withinSilence<Response>(
  start: (signal: AbortSignal) => AsyncIterable<Response>,
  timeoutMs: number,
  signal: AbortSignal,
): AsyncGenerator<Response> {
  const attempt = new AbortController()
  const abort = () => attempt.abort()
  signal.addEventListener('abort', abort)
  let timer = setTimeout(abort, timeoutMs)
  try {
    for await (const response of start(attempt.signal)) {
      clearTimeout(timer)
      timer = setTimeout(abort, timeoutMs)
      yield response
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}
