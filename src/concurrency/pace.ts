/** How fast a reader has to be. */
export interface PaceLimits {
  readonly windowMs: number
  /** Taken within the time that bytes wait for the reader. */
  readonly minBytesPerSecond: number
}

// Below any line over which somebody fetches files. Short interruptions of a line that is fast do
// not count.
const READERS: PaceLimits = { windowMs: 60_000, minBytesPerSecond: 8 * 1024 }

/**
 * How fast a reader takes what is printed for it. Only the time counts in which something waits for
 * the reader: a process that thinks holds nobody up.
 */
export class Pace {
  readonly #limits: PaceLimits
  #offeredMs: number | undefined
  #waitedMs = 0
  #takenBytes = 0

  constructor(limits: PaceLimits = READERS) {
    this.#limits = limits
  }

  /** Passes chunks on, and watches when they are taken. */
  async *follow(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of chunks) {
      this.#offeredMs = performance.now()
      yield chunk
      this.#waitedMs += performance.now() - this.#offeredMs
      this.#offeredMs = undefined
      this.#takenBytes += chunk.length
      if (this.#waitedMs >= this.#limits.windowMs && !this.isTooSlow()) {
        this.#waitedMs = 0
        this.#takenBytes = 0
      }
    }
  }

  /**
   * Whether the reader has been waited for during a whole window, and took less than it should
   * have.
   */
  isTooSlow(): boolean {
    const { windowMs, minBytesPerSecond } = this.#limits
    const waitedMs =
      this.#waitedMs + (this.#offeredMs === undefined ? 0 : performance.now() - this.#offeredMs)
    return waitedMs >= windowMs && this.#takenBytes < (waitedMs / 1000) * minBytesPerSecond
  }
}
