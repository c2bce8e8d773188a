import { Code, ConnectError } from '@connectrpc/connect'
import { getAbortSignalReason } from './connect-internals.ts'

/** Longest delay of a timer; a longer deadline, over 24 days, outlives any connection. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Calls that have given out a signal, to be aborted at shutdown: one listener for all of them. */
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

/**
 * What tells that a client is gone: a response of node:http, or of node:http2, which has a stream.
 */
export interface CallConnection {
  on(event: 'close', listener: () => void): unknown
  readonly destroyed?: boolean
  readonly stream?: { readonly destroyed: boolean }
}

/** Whether nobody can receive a response any more. */
export function isGone({ stream, destroyed }: CallConnection): boolean {
  return stream === undefined ? destroyed === true : stream.destroyed
}

/**
 * The deadline and the abort signal of one call. The signal, which costs more than the rest of a
 * small call, exists only if somebody asks for it, the timer only if there is a deadline, and the
 * connection is watched only if one of them is.
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
   * Rejects what is being waited for. One at a time, because a shared promise would keep every
   * reaction to it alive.
   */
  #interrupt: ((reason: unknown) => void) | undefined

  /** Takes the time allowed in milliseconds, undefined for any. */
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
   * Aborted by deadline, disconnect, shutdown, error and, as Connect promises, when the call is
   * complete.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      this.#watch()
      if (this.#state === 'running') this.#openCalls.add(this)
      else this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Time left in milliseconds, negative after the deadline; undefined without one. */
  remainingMs(): number | undefined {
    return this.#expiresAt === undefined ? undefined : this.#expiresAt - Date.now()
  }

  /**
   * Settles like the promise, or rejects with the reason when the call is cancelled first. One at a
   * time.
   */
  race<T>(promise: Promise<T>): Promise<T> {
    this.#watch()
    return new Promise<T>((resolve, reject) => {
      if (this.#state === 'cancelled') reject(this.#reason)
      else this.#interrupt = reject
      promise.then(resolve, reject)
    })
  }

  /**
   * Like `race` for a call with a deadline; without one the promise itself, because that costs
   * nothing.
   */
  limit<T>(promise: Promise<T>): Promise<T> {
    return this.#expiresAt === undefined ? promise : this.race(promise)
  }

  /** Gives the call up. Without effect if it was given up before or has ended. */
  cancel(reason: unknown): void {
    if (this.#state !== 'running') return
    this.#state = 'cancelled'
    this.#reason = reason
    this.#controller?.abort(reason)
    this.#interrupt?.(reason)
  }

  /** Ends the call: stops the timer and releases whoever still listens to the signal. */
  end(reason: unknown = completed): void {
    clearTimeout(this.#timer)
    if (this.#state === 'running') this.#reason = reason
    this.#state = 'ended'
    if (this.#controller === undefined) return
    this.#openCalls.delete(this)
    this.#controller.abort(this.#reason)
  }

  #watch(): void {
    if (this.#watched) return
    this.#watched = true
    if (isGone(this.#connection)) this.cancel(clientGone())
    // Also emitted after a complete answer, when making a reason would be a waste.
    this.#connection.on('close', () => {
      if (this.#state === 'running') this.cancel(clientGone())
    })
  }
}

/** The reason of calls whose client closed the connection or reset the stream. */
export function clientGone(): ConnectError {
  return new ConnectError('the client is gone', Code.Canceled)
}

/**
 * Why a signal is aborted after success. One object, because making an error with its stack costs
 * as much as a call.
 */
const completed = new ConnectError('the call is complete', Code.Canceled)
