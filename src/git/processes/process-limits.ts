import type { Pace } from '../../concurrency/pace.ts'
import { GitError } from '../core/errors.ts'

/** Who asks for a place. */
export interface Holder {
  /**
   * Whoever places are counted for; undefined for one that is not counted, such as the server
   * itself.
   */
  readonly holder?: string | undefined
  /** How fast the guest's reader reads; undefined where no reader can hold the place up. */
  readonly pace?: Pace
  /** Ends the work, and gives the place back. */
  readonly evict?: () => void
}

/** A guest that waits. */
interface Waiting {
  readonly guest: Holder
  readonly enter: () => void
}

/**
 * Lets so many in at a time and so many wait.
 *
 * A holder gets a place as long as it has fewer than are free: one alone gets half of all, a second
 * one half of the rest, and so on, so that whoever comes new finds a place (the dynamic thresholds
 * of A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds for shared-memory packet
 * switches", 1998). Of those who wait, the one whose holder has the fewest places is next. Whoever
 * reads too slowly loses the place when somebody else finds none.
 */
export class ProcessLimit {
  readonly #maxInside: number
  readonly #maxWaiting: number
  readonly #inside = new Set<Holder>()
  readonly #waiting: Waiting[] = []
  readonly #held = new Map<string, number>()

  constructor(maxInside: number, maxWaiting: number) {
    this.#maxInside = maxInside
    this.#maxWaiting = maxWaiting
  }

  /**
   * Waits for a place.
   *
   * @returns what gives the place back; calling it twice is the same as calling it once.
   * @throws GitError BUSY when too many wait already, in all or of this holder.
   */
  async enter(guest: Holder = {}): Promise<() => void> {
    if (!this.#admits(guest)) this.#evictSlow()
    if (this.#admits(guest)) this.#take(guest)
    else if (!this.#mayWait(guest)) throw new GitError('BUSY', 'too many processes')
    else await new Promise<void>((enter) => this.#waiting.push({ guest, enter }))
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      this.#leave(guest)
    }
  }

  #admits({ holder }: Holder): boolean {
    const free = this.#maxInside - this.#inside.size
    return free > 0 && this.#heldBy(holder) < free
  }

  #mayWait({ holder }: Holder): boolean {
    const free = this.#maxWaiting - this.#waiting.length
    const own =
      holder === undefined ? 0 : this.#waiting.filter(({ guest }) => guest.holder === holder).length
    return own < free
  }

  #heldBy(holder: string | undefined): number {
    return holder === undefined ? 0 : (this.#held.get(holder) ?? 0)
  }

  #take(guest: Holder): void {
    this.#inside.add(guest)
    if (guest.holder !== undefined) this.#held.set(guest.holder, this.#heldBy(guest.holder) + 1)
  }

  #leave(guest: Holder): void {
    this.#inside.delete(guest)
    if (guest.holder !== undefined) {
      const left = this.#heldBy(guest.holder) - 1
      if (left > 0) this.#held.set(guest.holder, left)
      else this.#held.delete(guest.holder)
    }
    for (
      let next = this.#next();
      next !== undefined && this.#admits(next.guest);
      next = this.#next()
    ) {
      this.#waiting.splice(this.#waiting.indexOf(next), 1)
      this.#take(next.guest)
      next.enter()
    }
  }

  /** The first of those who wait whose holder has the fewest places. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined
    for (const waiting of this.#waiting) {
      if (
        next === undefined ||
        this.#heldBy(waiting.guest.holder) < this.#heldBy(next.guest.holder)
      )
        next = waiting
    }
    return next
  }

  #evictSlow(): void {
    for (const { pace, evict } of this.#inside) if (pace?.isTooSlow()) evict?.()
  }
}
