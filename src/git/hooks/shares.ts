/** Lets so many in at a time, and of each owner no more than a share, in the order of coming. */
export class Shares {
  readonly #maxInside: number
  readonly #maxPerOwner: number
  readonly #waiting: { readonly owner: number; readonly start: () => void }[] = []
  readonly #insideOf = new Map<number, number>()
  #inside = 0

  constructor(maxInside: number, maxPerOwner: number) {
    this.#maxInside = maxInside
    this.#maxPerOwner = maxPerOwner
  }

  /**
   * Waits for a place. Who asks sees to it that not too many wait.
   *
   * @returns what gives the place back; calling it twice is the same as calling it once.
   */
  async enter(owner: number): Promise<() => void> {
    await new Promise<void>((resolve) => {
      this.#waiting.push({ owner, start: resolve })
      this.#admit()
    })
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      this.#inside -= 1
      this.#insideOf.set(owner, this.#countOf(owner) - 1)
      if (this.#countOf(owner) === 0) this.#insideOf.delete(owner)
      this.#admit()
    }
  }

  #admit(): void {
    while (this.#inside < this.#maxInside) {
      const next = this.#waiting.findIndex(({ owner }) => this.#countOf(owner) < this.#maxPerOwner)
      const [entry] = next < 0 ? [] : this.#waiting.splice(next, 1)
      if (!entry) return
      this.#inside += 1
      this.#insideOf.set(entry.owner, this.#countOf(entry.owner) + 1)
      entry.start()
    }
  }

  #countOf(owner: number): number {
    return this.#insideOf.get(owner) ?? 0
  }
}
