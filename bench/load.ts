import type { Answer, Request } from './requests.ts'

/** A client that keeps a number of requests in flight. */
export interface LoadClient {
  /** Sends one request and returns its response. */
  ask(url: URL, request: Request): Promise<Answer>
  /**
   * Sends the requests repeatedly, a new one for each response.
   *
   * Checks only that every response has the length of the response to the first request: failed
   * requests have responses of another length.
   *
   * @throws Error if a response has another length or the connection ends.
   */
  load(url: URL, requests: readonly Request[], options: LoadOptions): Promise<LoadResult>
}

export interface LoadOptions {
  readonly inFlight: number
  readonly durationMs: number
}

export interface LoadResult {
  readonly answered: number
  /** Time from the first request to the last counted response. */
  readonly elapsedMs: number
  /** Latency of each request, in no particular order. */
  readonly latenciesMs: readonly number[]
}

/** Counts responses until the time is up. */
export class Stopwatch {
  readonly #latenciesMs: number[] = []
  readonly #startedMs = performance.now()
  readonly #durationMs: number
  #lastMs = this.#startedMs

  constructor(durationMs: number) {
    this.#durationMs = durationMs
  }

  /** Counts a response to a request that was sent at `sentMs`. Returns whether the time is up. */
  count(sentMs: number): boolean {
    this.#lastMs = performance.now()
    this.#latenciesMs.push(this.#lastMs - sentMs)
    return this.#lastMs - this.#startedMs >= this.#durationMs
  }

  result(): LoadResult {
    return {
      answered: this.#latenciesMs.length,
      elapsedMs: this.#lastMs - this.#startedMs,
      latenciesMs: this.#latenciesMs,
    }
  }
}

/** Returns a function that all connections of a load take their next request from, in rotation. */
export function cycle<T>(items: readonly T[]): () => T {
  let next = 0
  return () => {
    const item = items[next]
    if (item === undefined) throw new Error('a load of no requests')
    next = (next + 1) % items.length
    return item
  }
}

/**
 * Runs work without letting the process sleep. Waking a sleeping process costs the server up to as
 * much as its response, above all in virtual machines, and a slower server would pay more often.
 */
export async function awake<T>(work: () => Promise<T>): Promise<T> {
  let isOver = false
  const spin = () => {
    if (!isOver) setImmediate(spin)
  }
  spin()
  try {
    return await work()
  } finally {
    isOver = true
  }
}
