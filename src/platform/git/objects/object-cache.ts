import { LRUCache } from 'lru-cache'
import type { Repositories } from '../repositories/repositories.ts'
import type { Evidence, ObjectPresence } from './object-presence.ts'

interface Entry<T> {
  readonly value: T
  readonly evidence: Evidence
}

/** A cache of values that were read from objects. A value is valid while its object is stored. */
export class ObjectCache<T> {
  /** By repository and object id. */
  readonly #entries: LRUCache<string, Entry<T>>

  constructor(maxBytes: number, bytesOf: (value: T) => number) {
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      // The evidence takes some memory too, and a key can contain a long path.
      sizeCalculation: ({ value }, key) => bytesOf(value) + key.length * 2 + 256,
    })
  }

  /** @param variant tells values of the same object apart. */
  get(id: number, objectId: string, presence: ObjectPresence, variant = ''): T | undefined {
    const key = keyOf(id, objectId, variant)
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (presence.holds(objectId, entry.evidence)) return entry.value
    this.#entries.delete(key)
    return undefined
  }

  /**
   * Stores a value.
   *
   * @param before evidence from before the read; `presence` gives the one from after the read.
   */
  set(
    id: number,
    objectId: string,
    value: T,
    { before, presence, variant = '' }: ReadAt & { readonly variant?: string },
  ): void {
    const isLoose = before.isLoose || presence.evidenceOf(objectId).isLoose
    if (!isLoose && before.packs === undefined) return
    this.#entries.set(keyOf(id, objectId, variant), {
      value,
      evidence: { isLoose, packs: before.packs },
    })
  }

  /** Removes the entries of a repository. */
  delete(id: number): void {
    for (const key of [...this.#entries.keys()])
      if (key.startsWith(`${id} `)) this.#entries.delete(key)
  }
}

/** When an object was read. */
export interface ReadAt {
  readonly before: Evidence
  readonly presence: ObjectPresence
}

function keyOf(id: number, objectId: string, variant: string): string {
  return `${id} ${objectId}${variant}`
}

/**
 * Returns the object cache of a module. The first use creates the cache. The deletion of a
 * repository removes its entries.
 *
 * @param name of the cache.
 */
export function objectCacheOf<T>(
  { repositoryCaches }: Repositories,
  name: string,
  maxBytes: number,
  bytesOf: (value: T) => number,
): ObjectCache<T> {
  const cache = repositoryCaches.get(name) ?? new ObjectCache<T>(maxBytes, bytesOf)
  repositoryCaches.set(name, cache)
  // Each name belongs to one module and therefore to one type.
  return cache as ObjectCache<T>
}
