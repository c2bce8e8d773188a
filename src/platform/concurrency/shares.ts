import { type Holder, kindOf } from './holders.ts'

/** The sizes of places that are shared. */
export interface ShareLimits {
  /** Places that all holders share. */
  readonly max: number
  /**
   * More places, for holders that have none: so many for accounts, and as many for strangers.
   * Default: half of `max`.
   */
  readonly firstPlaces?: number
  /** Places of one holder. Default: no limit of its own. */
  readonly maxPerHolder?: number
}

/**
 * Places that holders share fairly.
 *
 * A holder gets another place while it has fewer than are free. A single holder gets half of all
 * places, a second one half of the rest, and so on (the dynamic thresholds of A. K. Choudhury and
 * E. L. Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998).
 *
 * A holder that has no place gets one even when none of these is free: one of the first places of its
 * kind. So no holder waits for the work of others, however many places they have. The server itself
 * can have all places but the first ones.
 */
export class Shares {
  readonly #max: number
  readonly #firstPlaces: number
  readonly #maxPerHolder: number
  readonly #held = new Map<Holder, number>()
  #total = 0
  /** The holders that have one of the first places. */
  readonly #first = { known: new Set<Holder>(), stranger: new Set<Holder>() }

  constructor({
    max,
    firstPlaces = Math.ceil(max / 2),
    maxPerHolder = Number.POSITIVE_INFINITY,
  }: ShareLimits) {
    this.#max = max
    this.#firstPlaces = firstPlaces
    this.#maxPerHolder = maxPerHolder
  }

  /** Whether at least half of the common places are taken. */
  get isHalfTaken(): boolean {
    return this.#total * 2 >= this.#max
  }

  /** Returns whether a holder may take a place now. */
  admits(holder: Holder): boolean {
    const isBelowOwn = holder === 'server' || this.heldBy(holder) < this.#maxPerHolder
    return isBelowOwn && (this.#hasCommon(holder) || this.#hasFirst(holder))
  }

  /** Returns the limit that keeps a holder from another place: its own, or that of all. */
  limitReached(holder: Holder): number {
    return this.heldBy(holder) < this.#maxPerHolder ? this.#max : this.#maxPerHolder
  }

  heldBy(holder: Holder): number {
    return this.#held.get(holder) ?? 0
  }

  /** Takes a place, which `admits` allows. */
  take(holder: Holder): void {
    if (!this.#hasCommon(holder)) this.#first[kindOf(holder)].add(holder)
    this.#held.set(holder, this.heldBy(holder) + 1)
    this.#total += 1
  }

  /** Gives a place back, the first place if the holder has one. */
  release(holder: Holder): void {
    this.#first[kindOf(holder)].delete(holder)
    const left = this.heldBy(holder) - 1
    if (left > 0) this.#held.set(holder, left)
    else this.#held.delete(holder)
    this.#total -= 1
  }

  /** Returns whether a holder may have another one of the places that all share. */
  #hasCommon(holder: Holder): boolean {
    const free = this.#max - this.#total + this.#first.known.size + this.#first.stranger.size
    return (holder === 'server' ? 0 : this.heldBy(holder)) < free
  }

  /** Returns whether a holder may have one of the first places of its kind. */
  #hasFirst(holder: Holder): boolean {
    const isFree = this.#first[kindOf(holder)].size < this.#firstPlaces
    return isFree && holder !== 'server' && this.heldBy(holder) === 0
  }
}
