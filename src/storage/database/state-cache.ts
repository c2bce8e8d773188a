import type { Db } from '../schema/schema.ts'
import { readerOf } from './database.ts'

/**
 * Values that were computed from rows, by text. A commit of any process ends all of them, so a value
 * is what another read at the same moment would return.
 *
 * Only reads outside of transactions use the cache. A database in memory has none.
 */
export class StateCache<Value extends object> {
  readonly #maxValues: number
  readonly #values = new Map<string, Value>()
  /** The state of the database that all values were read from. */
  #version: number | undefined

  /** @param maxValues the number of values after which the oldest one is dropped. */
  constructor(maxValues: number) {
    this.#maxValues = maxValues
  }

  /** Returns the value of a key if the database is in the state that the value was read from. */
  get(db: Db, key: string): Value | undefined {
    if (this.#version === undefined || readerOf(db)?.version !== this.#version) return undefined
    return this.#values.get(key)
  }

  /**
   * Reads a value and keeps it for the state that the database had before the read. If the database
   * changes during the read, that state never returns, and neither does the value.
   *
   * @param isKept returns whether a value may be returned again.
   */
  async read(
    db: Db,
    key: string,
    read: () => Promise<Value>,
    isKept: (value: Value) => boolean,
  ): Promise<Value> {
    const version = readerOf(db)?.version
    const value = await read()
    if (version !== undefined && isKept(value)) this.#keep(version, key, value)
    return value
  }

  #keep(version: number, key: string, value: Value): void {
    if (this.#version !== version) {
      this.#values.clear()
      this.#version = version
    }
    const [oldest] = this.#values.keys()
    if (oldest !== undefined && this.#values.size >= this.#maxValues) this.#values.delete(oldest)
    this.#values.set(key, value)
  }
}
