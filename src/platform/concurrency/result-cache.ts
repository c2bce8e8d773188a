import { LRUCache } from 'lru-cache'

/** An LRU cache of results that never change. */
export class ResultCache<T> {
  readonly #results: LRUCache<string, Promise<T>>

  /** @param max number of cached results. */
  constructor(max: number) {
    this.#results = new LRUCache({ max })
  }

  /**
   * Returns the cached result of a key, or computes the result. Concurrent callers share one
   * computation. Failures are not cached.
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
