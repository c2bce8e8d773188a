/** Results by key, those asked for last kept, for questions whose answer never changes. */
export class Recent<T> {
  readonly #results = new Map<string, Promise<T>>()
  readonly #maxKept: number

  constructor(maxKept: number) {
    this.#maxKept = maxKept
  }

  /**
   * The result of a key, computed if it is not kept. Who asks while it is computed waits for it; a
   * failure is not kept.
   */
  get(key: string, compute: () => Promise<T>): Promise<T> {
    const kept = this.#results.get(key)
    const result = kept ?? compute()
    this.#results.delete(key)
    // A Map keeps the order of insertion: the one asked for longest ago comes first.
    this.#results.set(key, result)
    if (!kept) result.catch(() => this.#forget(key, result))
    const [oldest] = this.#results.keys()
    if (this.#results.size > this.#maxKept && oldest !== undefined) this.#results.delete(oldest)
    return result
  }

  #forget(key: string, result: Promise<T>): void {
    if (this.#results.get(key) === result) this.#results.delete(key)
  }
}
