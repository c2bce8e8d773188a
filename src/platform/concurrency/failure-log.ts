/** Maximum number of keys in each log. When full, three logs with limits of 5 to 50 take some 25 MB. */
const MAX_KEYS = 50_000

/** How often a log removes expired entries within its window. */
const SWEEPS_PER_WINDOW = 10

/** Counts the occurrences of keys. */
class Tally {
  readonly #counts = new Map<string, number>()

  get(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  change(key: string, by: 1 | -1): void {
    const count = this.get(key) + by
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}

/**
 * The failure times of each key within the window, and the number of its running checks.
 *
 * When the log is full, it evicts the key with the fewest failures, and the oldest among equals. To
 * evict a key with n failures, an attacker must fill the log with keys that have more than n
 * failures each. That takes more guesses, from more addresses, than it gains.
 */
export class FailureLog {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  /** Oldest first, at most `limit` for each key. */
  readonly #times = new Map<string, readonly number[]>()
  /** Index n holds the keys with n failures, in the order in which they reached that number. */
  readonly #keysByCount: readonly Set<string>[]
  readonly #running = new Tally()
  #sweptAt = 0

  constructor(name: string, limit: number, windowMs: number) {
    this.name = name
    this.limit = limit
    this.windowMs = windowMs
    this.#keysByCount = Array.from({ length: limit + 1 }, () => new Set<string>())
  }

  /** Returns the milliseconds until the key may fail once more; 0 if it may fail now. */
  waitMs(key: string, now: number): number {
    const times = this.#recent(key, now)
    return times.length < this.limit ? 0 : (times[0] ?? now) + this.windowMs - now
  }

  /** Returns whether the key may fail once more even if all of its running checks fail. */
  hasCapacity(key: string, now: number): boolean {
    return this.#recent(key, now).length + this.#running.get(key) < this.limit
  }

  /** Counts a check that starts. */
  begin(key: string): void {
    this.#running.change(key, 1)
  }

  /** Counts a check that ends. `failedAt` is undefined unless the check failed. */
  end(key: string, failedAt: number | undefined): void {
    this.#running.change(key, -1)
    if (failedAt !== undefined) this.#add(key, failedAt)
  }

  #add(key: string, now: number): void {
    if (now - this.#sweptAt >= this.windowMs / SWEEPS_PER_WINDOW) this.#sweep(now)
    if (this.#times.size >= MAX_KEYS && !this.#times.has(key)) this.#evictOne()
    this.#set(key, [...this.#recent(key, now), now])
  }

  /** Removes the failures of a key. */
  clear(key: string): void {
    this.#set(key, [])
  }

  #recent(key: string, now: number): readonly number[] {
    return (this.#times.get(key) ?? []).filter((time) => now - time < this.windowMs)
  }

  #set(key: string, times: readonly number[]): void {
    this.#keysByCount[this.#times.get(key)?.length ?? 0]?.delete(key)
    this.#times.delete(key)
    if (times.length === 0) return
    this.#times.set(key, times)
    this.#keysByCount[times.length]?.add(key)
  }

  #sweep(now: number): void {
    this.#sweptAt = now
    for (const key of [...this.#times.keys()]) this.#set(key, this.#recent(key, now))
  }

  #evictOne(): void {
    for (const keys of this.#keysByCount) {
      for (const key of keys) {
        this.#set(key, [])
        return
      }
    }
  }
}
