/** The minimum speed of a reader. */
export interface PaceLimits {
  /** Time over which the speed is measured. */
  readonly windowMs: number
  /** Only the time counts in which bytes wait for the reader. */
  readonly minBytesPerSecond: number
}

// Slower than any connection in use. Short interruptions of a fast connection do not count.
const READERS: PaceLimits = { windowMs: 60_000, minBytesPerSecond: 8 * 1024 }

/**
 * Measures the speed of a reader. Only the time counts in which output waits for the reader, not
 * the time in which the process computes.
 */
export class Pace {
  readonly #limits: PaceLimits
  #offeredMs: number | undefined
  #waitedMs = 0
  #takenBytes = 0

  constructor(limits: PaceLimits = READERS) {
    this.#limits = limits
  }

  /** Passes chunks on and measures when the reader takes them. */
  async *follow(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of chunks) {
      this.#offeredMs = performance.now()
      yield chunk
      const waitedMs = performance.now() - this.#offeredMs
      this.#offeredMs = undefined
      this.note(chunk.length, waitedMs)
    }
  }

  /** Counts bytes that the reader has taken, and the time in which bytes have waited for the reader. */
  note(bytes: number, waitedMs: number): void {
    this.#takenBytes += bytes
    this.#waitedMs += waitedMs
    if (this.#waitedMs >= this.#limits.windowMs && !this.isTooSlow()) {
      this.#waitedMs = 0
      this.#takenBytes = 0
    }
  }

  /**
   * Returns whether output has waited for the reader during a whole window, and the reader took
   * less than the minimum.
   */
  isTooSlow(): boolean {
    const { windowMs, minBytesPerSecond } = this.#limits
    const waitedMs =
      this.#waitedMs + (this.#offeredMs === undefined ? 0 : performance.now() - this.#offeredMs)
    return waitedMs >= windowMs && this.#takenBytes < (waitedMs / 1000) * minBytesPerSecond
  }
}
