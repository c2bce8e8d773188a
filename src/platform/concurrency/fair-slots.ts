import { type Holder, type HolderKind, kindOf } from './holders.ts'
import { type ShareLimits, Shares } from './shares.ts'

/** A request for a slot. */
export interface SlotRequest {
  /** Whom the slot counts for. */
  readonly holder: Holder
  /** Returns whether the work lasts only because its client reads too slowly. */
  readonly isTooSlow?: () => boolean
  /** Ends the work, which loses its slot. */
  readonly evict?: () => void
}

/** A request of the server itself. */
const OWN: SlotRequest = { holder: 'server' }

/** Limits of the requests that run and of those that wait. */
export interface SlotLimits extends ShareLimits {
  /** Requests that wait, shared like the slots. Default: 0, so that a request waits for nothing. */
  readonly maxWaiting?: number
  /**
   * Creates the error of a request that finds neither a slot nor a place to wait.
   *
   * @param limit the slots that the holder can have, or all holders together.
   */
  readonly full: (limit: number) => Error
}

/** Runs work in a slot, which counts for a holder. */
export type RunInSlot = <T>(holder: Holder, work: () => Promise<T>) => Promise<T>

interface Waiting {
  readonly holder: Holder
  readonly start: () => void
}

/**
 * Slots that accounts and peers share fairly, by the rules of `Shares`: those that run, and the
 * places of those that wait.
 *
 * Of those that wait, strangers and accounts have their turns alternately, then each account or peer
 * has its turn, and one that has fewer slots comes first. A client that reads too slowly loses its
 * slot when another request finds none.
 */
export class FairSlots {
  readonly #running: Shares
  readonly #places: Shares
  readonly #requests = new Set<SlotRequest>()
  readonly #waiting = new Set<Waiting>()
  readonly #turnsOfKinds = new Turns<HolderKind>()
  readonly #turns = new Turns<Holder>()
  readonly #full: (limit: number) => Error

  constructor({ maxWaiting = 0, full, ...limits }: SlotLimits) {
    this.#running = new Shares(limits)
    this.#places = new Shares({ max: maxWaiting })
    this.#full = full
  }

  /** Whether at least half of the slots are taken. */
  get isHalfTaken(): boolean {
    return this.#running.isHalfTaken
  }

  /**
   * Takes a slot if there is one for the holder now.
   *
   * @returns a function that releases the slot. Further calls have no effect.
   */
  tryAcquire(request = OWN): (() => void) | undefined {
    const { holder } = request
    if (!this.#running.admits(holder)) this.#evictSlow()
    if (!this.#running.admits(holder)) return undefined
    this.#take(holder)
    return this.#held(request)
  }

  /**
   * Waits for a slot.
   *
   * @returns a function that releases the slot. Further calls have no effect.
   * @throws the error of `full`
   */
  async acquire(request = OWN): Promise<() => void> {
    const release = this.tryAcquire(request)
    if (release) return release
    const { holder } = request
    if (!this.#places.admits(holder)) throw this.#full(this.#running.limitReached(holder))
    this.#places.take(holder)
    await new Promise<void>((start) => this.#waiting.add({ holder, start }))
    return this.#held(request)
  }

  /**
   * Runs work in a slot.
   *
   * @throws the error of `full`
   */
  readonly run: RunInSlot = async (holder, work) => {
    const release = await this.acquire({ holder })
    try {
      return await work()
    } finally {
      release()
    }
  }

  #take(holder: Holder): void {
    this.#running.take(holder)
    this.#turnsOfKinds.take(kindOf(holder))
    this.#turns.take(holder)
  }

  /** Returns the function that releases a slot that was taken. */
  #held(request: SlotRequest): () => void {
    this.#requests.add(request)
    return () => {
      if (!this.#requests.delete(request)) return
      this.#running.release(request.holder)
      this.#startWaiting()
    }
  }

  #startWaiting(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#waiting.delete(next)
      this.#places.release(next.holder)
      this.#take(next.holder)
      next.start()
    }
  }

  /** Returns the waiting request that is next; undefined if none may start. */
  #next(): Waiting | undefined {
    let next: { readonly waiting: Waiting; readonly rank: readonly number[] } | undefined
    for (const waiting of this.#waiting) {
      if (!this.#running.admits(waiting.holder)) continue
      const rank = this.#rankOf(waiting.holder)
      if (!next || isBefore(rank, next.rank)) next = { waiting, rank }
    }
    return next?.waiting
  }

  #rankOf(holder: Holder): readonly number[] {
    return [
      this.#turnsOfKinds.of(kindOf(holder)),
      this.#running.heldBy(holder),
      this.#turns.of(holder),
    ]
  }

  #evictSlow(): void {
    for (const { isTooSlow, evict } of this.#requests) if (isTooSlow?.()) evict?.()
  }
}

/** Compares the first number that differs. */
function isBefore(a: readonly number[], b: readonly number[]): boolean {
  const differs = a.findIndex((number, i) => number !== b[i])
  return differs >= 0 && (a[differs] ?? 0) < (b[differs] ?? 0)
}

/** Keys whose turns are remembered. The one whose turn was first is forgotten, and counts as new. */
const MAX_KEYS = 10_000

/**
 * The order in which keys have their turns, by virtual time (P. Goyal et al., "Start-time fair
 * queuing", 1996). A key that comes for the first time, or comes back, starts at the present time:
 * the key does not make up for turns that it did not want.
 */
export class Turns<Key extends string> {
  /** By the last turn. An `LRUCache` would take memory for all keys at once. */
  readonly #next = new Map<Key, number>()
  #now = 0

  /** Returns the time of the next turn of a key. The key with the smallest time is next. */
  of(key: Key): number {
    return Math.max(this.#next.get(key) ?? 0, this.#now)
  }

  /** Notes that a key has its turn. */
  take(key: Key): void {
    const time = this.of(key)
    this.#now = time
    this.#next.delete(key)
    this.#next.set(key, time + 1)
    if (this.#next.size <= MAX_KEYS) return
    for (const first of this.#next.keys()) {
      this.#next.delete(first)
      return
    }
  }
}
