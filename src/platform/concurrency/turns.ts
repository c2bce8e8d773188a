import { LRUCache } from 'lru-cache'

/** Keys whose turns are remembered. A key that is forgotten counts as a new one. */
const MAX_KEYS = 10_000

/**
 * The order in which keys have their turns, by virtual time (P. Goyal et al., "Start-time fair
 * queuing", 1996). A key that comes for the first time, or comes back, starts at the present time:
 * the key does not make up for turns that it did not want.
 */
export class Turns<Key extends string> {
  readonly #next = new LRUCache<Key, number>({ max: MAX_KEYS })
  #now = 0

  /** Returns the time of the next turn of a key. The key with the smallest time is next. */
  of(key: Key): number {
    return Math.max(this.#next.get(key) ?? 0, this.#now)
  }

  /** Notes that a key has its turn. */
  take(key: Key): void {
    const time = this.of(key)
    this.#now = time
    this.#next.set(key, time + 1)
  }
}
