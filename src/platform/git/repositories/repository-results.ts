import { LRUCache } from 'lru-cache'
import type { Repositories, RepositoryCache } from './repositories.ts'

/** Memory of an entry without its key and its value. */
const ENTRY_BYTES = 200

/** Results about repositories that never change, bounded by the memory that they take. */
export class RepositoryResults<T> implements RepositoryCache {
  readonly #results: LRUCache<string, { readonly value: T }>
  readonly #pending = new Map<string, Promise<T>>()

  constructor(maxBytes: number, bytesOf: (value: T) => number) {
    this.#results = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ value }, key) => bytesOf(value) + key.length * 2 + ENTRY_BYTES,
    })
  }

  /** Returns a result, if it is known. */
  peek(id: number, key: string): T | undefined {
    return this.#results.get(keyOf(id, key))?.value
  }

  /** Keeps a result. */
  set(id: number, key: string, value: T): void {
    this.#results.set(keyOf(id, key), { value })
  }

  /**
   * Returns the known result of a key, or computes the result. Concurrent callers share one
   * computation. Failures are not kept.
   */
  async get(id: number, key: string, compute: () => Promise<T>): Promise<T> {
    const fullKey = keyOf(id, key)
    const known = this.#results.get(fullKey)
    if (known) return known.value
    const pending = this.#pending.get(fullKey)
    if (pending) return pending
    const work = compute()
    this.#pending.set(fullKey, work)
    try {
      const value = await work
      // The repository may have been deleted in the meantime.
      if (this.#pending.get(fullKey) === work) this.#results.set(fullKey, { value })
      return value
    } finally {
      if (this.#pending.get(fullKey) === work) this.#pending.delete(fullKey)
    }
  }

  /** Removes the results of a repository. */
  delete(id: number): void {
    for (const entries of [this.#results, this.#pending])
      for (const key of [...entries.keys()]) if (key.startsWith(keyOf(id, ''))) entries.delete(key)
  }
}

function keyOf(id: number, key: string): string {
  return `${id} ${key}`
}

/**
 * Returns the results that a module keeps. The first use creates the cache. The deletion of a
 * repository removes its results.
 *
 * @param name of the cache.
 * @param bytesOf memory of a value; 0 for a number or an id.
 */
export function resultsOf<T>(
  { repositoryCaches }: Repositories,
  name: string,
  maxBytes: number,
  bytesOf: (value: T) => number = () => 0,
): RepositoryResults<T> {
  const cache = repositoryCaches.get(name) ?? new RepositoryResults<T>(maxBytes, bytesOf)
  repositoryCaches.set(name, cache)
  // Each name belongs to one module and therefore to one type.
  return cache as RepositoryResults<T>
}
