import { LRUCache } from 'lru-cache'

/** Results by key, for questions whose answer never changes. */
export class ResultCache<T> {
  readonly #results: LRUCache<string, Promise<T>>

  /** @param max number of results that are cached, the most recently used ones. */
  constructor(max: number) {
    this.#results = new LRUCache({ max })
  }

  /**
   * Returns the cached result of a key, or computes it. Callers at the same time share one
   * computation. A failure is not cached.
   */
  get(key: string, compute: () => Promise<T>): Promise<T> {
    const cached = this.#results.get(key)
    if (cached) return cached
    const result = compute()
    this.#results.set(key, result)
    result.catch(() => {
      if (this.#results.peek(key) === result) this.#results.delete(key)
    })
    return result
  }
}
