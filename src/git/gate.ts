import { GitError } from './errors.ts'

/** Lets so many in at a time and so many wait, in the order of coming. */
export class Gate {
  readonly #maxInside: number
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor(maxInside: number, maxWaiting: number) {
    this.#maxInside = maxInside
    this.#maxWaiting = maxWaiting
  }

  /**
   * Waits for a place.
   *
   * @returns what gives the place back; calling it twice is the same as calling it once.
   * @throws GitError BUSY when too many wait already.
   */
  async enter(): Promise<() => void> {
    if (this.#inside < this.#maxInside) this.#inside += 1
    else if (this.#waiting.length >= this.#maxWaiting) throw new GitError('BUSY', 'too many processes')
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      const next = this.#waiting.shift()
      // The place passes to the next one, and the number of those inside stays.
      if (next) next()
      else this.#inside -= 1
    }
  }
}
