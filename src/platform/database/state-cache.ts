import { readerOf } from './database.ts'
import type { Reader } from './reader.ts'
import type { Db } from './schema.ts'

/**
 * Values that were computed from rows, by key. A commit of any process ends all of them, so a value
 * is what another read at the same moment would return.
 *
 * Only reads outside of transactions use the cache. A database in memory has none.
 */
export class StateCache<Key extends string | number, Value extends object> {
  readonly #maxValues: number
  readonly #values = new Map<Key, Value>()
  /** The state of the database that all values were read from. */
  #version: number | undefined

  /** @param maxValues the number of values after which the oldest one is dropped. */
  constructor(maxValues: number) {
    this.#maxValues = maxValues
  }

  /** Returns the value of a key if the database is in the state that the value was read from. */
  get(db: Db, key: Key): Value | undefined {
    return this.#isCurrent(readerOf(db)?.version) ? this.#values.get(key) : undefined
  }

  /**
   * Reads a value and keeps it for the state that the database had before the read. If the database
   * changes during the read, that state never returns, and neither does the value.
   *
   * @param isKept returns whether a value may be returned again.
   */
  async read(
    db: Db,
    key: Key,
    read: () => Promise<Value>,
    isKept: (value: Value) => boolean,
  ): Promise<Value> {
    const version = readerOf(db)?.version
    const value = await read()
    if (version !== undefined && isKept(value)) this.#keep(version, key, value)
    return value
  }

  /**
   * Returns the values of some keys, and reads and keeps those that are not known.
   *
   * @param read reads the values of the other keys. A key without a value is left out.
   * @param isKept returns whether a value may be returned again.
   */
  async readAll(
    db: Db,
    keys: readonly Key[],
    read: (others: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
    isKept: (value: Value) => boolean,
  ): Promise<ReadonlyMap<Key, Value>> {
    const version = readerOf(db)?.version
    const isCurrent = this.#isCurrent(version)
    const values = new Map<Key, Value>()
    const others: Key[] = []
    for (const key of keys) {
      const known = isCurrent ? this.#values.get(key) : undefined
      if (known) values.set(key, known)
      else others.push(key)
    }
    if (others.length === 0) return values
    for (const [key, value] of await read(others)) {
      values.set(key, value)
      if (version !== undefined && isKept(value)) this.#keep(version, key, value)
    }
    return values
  }

  #isCurrent(version: number | undefined): boolean {
    return version !== undefined && version === this.#version
  }

  #keep(version: number, key: Key, value: Value): void {
    if (this.#version !== version) {
      this.#values.clear()
      this.#version = version
    }
    const [oldest] = this.#values.keys()
    if (oldest !== undefined && this.#values.size >= this.#maxValues) this.#values.delete(oldest)
    this.#values.set(key, value)
  }
}

/**
 * Returns a function that returns the cache of a database: always the same one for a file that is
 * open, and a new one for a transaction and for a database in memory.
 *
 * @param maxValues the maximum number of values of one cache.
 */
export function stateCaches<Key extends string | number, Value extends object>(
  maxValues: number,
): (db: Db) => StateCache<Key, Value> {
  const caches = new WeakMap<Reader, StateCache<Key, Value>>()
  return (db) => {
    const reader = readerOf(db)
    const known = reader && caches.get(reader)
    if (known) return known
    const cache = new StateCache<Key, Value>(maxValues)
    if (reader) caches.set(reader, cache)
    return cache
  }
}
