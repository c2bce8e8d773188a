import { Code, ConnectError } from '@connectrpc/connect'
import { getAbortSignalReason } from './connect-internals.ts'
import { clientGone } from './errors.ts'

/** Longest delay of a timer: 24 days. A longer deadline has no timer. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** The streams, and the calls whose signal is in use. One listener waits for the shutdown of the server. */
export class OpenCalls {
  readonly #calls = new Set<Cancellation>()
  readonly #shutdown: AbortSignal | undefined

  constructor(shutdown: AbortSignal | undefined) {
    this.#shutdown = shutdown
    shutdown?.addEventListener('abort', () => {
      for (const call of this.#calls) call.cancel(getAbortSignalReason(shutdown))
    })
  }

  add(call: Cancellation): void {
    if (this.#shutdown?.aborted) call.cancel(getAbortSignalReason(this.#shutdown))
    else this.#calls.add(call)
  }

  delete(call: Cancellation): void {
    this.#calls.delete(call)
  }
}

/** The parts of a response of node:http or node:http2 that show whether the client is connected. */
export interface CallConnection {
  on(event: 'close', listener: () => void): unknown
  readonly destroyed?: boolean
  /** Only a response of node:http2 has a stream. */
  readonly stream?: { readonly destroyed: boolean }
}

/** Returns whether the client can no longer receive the response. */
export function isGone({ stream, destroyed }: CallConnection): boolean {
  return stream === undefined ? destroyed === true : stream.destroyed
}

/**
 * The deadline and the abort signal of one call. The signal costs more than the rest of a small
 * call and is created when first used. Calls without a deadline have no timer, and the connection
 * is watched only when a signal or a wait needs it.
 */
export class Cancellation {
  readonly #openCalls: OpenCalls
  readonly #connection: CallConnection
  #watched = false
  readonly #expiresAt: number | undefined
  readonly #timer: NodeJS.Timeout | undefined
  #controller: AbortController | undefined
  #state: 'running' | 'cancelled' | 'ended' = 'running'
  #reason: unknown
  /**
   * Rejects the current wait. A call waits for one promise at a time: a shared promise would keep
   * all reactions to it in memory.
   */
  #interrupt: ((reason: unknown) => void) | undefined

  /** @param timeoutMs undefined for a call without a deadline. */
  constructor(timeoutMs: number | undefined, connection: CallConnection, openCalls: OpenCalls) {
    this.#openCalls = openCalls
    this.#connection = connection
    if (timeoutMs === undefined) return
    this.#expiresAt = Date.now() + timeoutMs
    const expire = () =>
      this.cancel(new ConnectError('the operation timed out', Code.DeadlineExceeded))
    if (timeoutMs === 0) expire()
    else if (timeoutMs <= MAX_TIMER_MS) this.#timer = setTimeout(expire, timeoutMs)
  }

  /**
   * The signal of the call. It is aborted by the deadline, a disconnect, a shutdown, an error and,
   * as Connect specifies, the end of the call.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      this.#watch()
      this.endAtShutdown()
      if (this.#state !== 'running') this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Lets the shutdown of the server cancel the call. A call with a signal does so anyway. */
  endAtShutdown(): void {
    if (this.#state === 'running') this.#openCalls.add(this)
  }

  /** Returns the time left, which is negative after the deadline; undefined without a deadline. */
  remainingMs(): number | undefined {
    return this.#expiresAt === undefined ? undefined : this.#expiresAt - Date.now()
  }

  /** Settles like the promise, or rejects with the reason when the call is cancelled first. */
  race<T>(promise: Promise<T>): Promise<T> {
    this.#watch()
    return new Promise<T>((resolve, reject) => {
      if (this.#state === 'cancelled') reject(this.#reason)
      else this.#interrupt = reject
      promise.then(resolve, reject)
    })
  }

  /** Like `race` for a call with a deadline. Returns the promise itself for other calls. */
  limit<T>(promise: Promise<T>): Promise<T> {
    return this.#expiresAt === undefined ? promise : this.race(promise)
  }

  /** Cancels the call. Has no effect on a call that was cancelled or has ended. */
  cancel(reason: unknown): void {
    if (this.#state !== 'running') return
    this.#state = 'cancelled'
    this.#reason = reason
    this.#controller?.abort(reason)
    this.#interrupt?.(reason)
  }

  /** Ends the call: stops the timer and aborts the signal to release its listeners. */
  end(reason: unknown = completed): void {
    clearTimeout(this.#timer)
    if (this.#state === 'running') this.#reason = reason
    this.#state = 'ended'
    this.#openCalls.delete(this)
    this.#controller?.abort(this.#reason)
  }

  #watch(): void {
    if (this.#watched) return
    this.#watched = true
    if (isGone(this.#connection)) this.cancel(clientGone())
    // `close` is also emitted after a complete response. An error is created only when needed.
    this.#connection.on('close', () => {
      if (this.#state === 'running') this.cancel(clientGone())
    })
  }
}

/**
 * The reason of signals that are aborted after success. All calls share it: creating an error with
 * its stack costs as much as a call.
 */
const completed = new ConnectError('the call is complete', Code.Canceled)
