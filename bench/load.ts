import type { Answer, Request } from './requests.ts'

/** A client that keeps a number of requests in flight for a while. */
export interface LoadClient {
  /** Sends one request and returns its answer. */
  ask(url: URL, request: Request): Promise<Answer>
  /**
   * Sends the requests over and over, a new one whenever one is answered.
   *
   * Every answer must be as long as that to the first request was, which is all that is looked at:
   * requests that fail are answered with another length.
   *
   * @throws Error when an answer has another length or the connection ends.
   */
  load(url: URL, requests: readonly Request[], options: LoadOptions): Promise<LoadResult>
}

export interface LoadOptions {
  readonly inFlight: number
  readonly durationMs: number
}

export interface LoadResult {
  readonly answered: number
  /** From the first request to the last answer counted. */
  readonly elapsedMs: number
  /** Of each request, in no particular order. */
  readonly latenciesMs: readonly number[]
}

/** Counts answers until the time is up. */
export class Stopwatch {
  readonly #latenciesMs: number[] = []
  readonly #startedMs = performance.now()
  readonly #durationMs: number
  #lastMs = this.#startedMs

  constructor(durationMs: number) {
    this.#durationMs = durationMs
  }

  /** Counts an answer to a request sent at `sentMs`. Returns whether the time is up. */
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

/** A position in the requests that every connection of a load takes its next one from. */
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
 * Does work without letting the process sleep in between. To wake a process that sleeps costs the
 * server up to as much as its answer does, above all in virtual machines, and the slower server
 * would pay that for more of its answers.
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
