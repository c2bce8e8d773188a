import type { Pace } from '../../concurrency/pace.ts'
import { GitError } from '../core/errors.ts'

/** A request for a slot. */
export interface SlotRequest {
  /** Key of the account or address that the slot counts for. Undefined: for none. */
  readonly holder?: string | undefined
  /** Speed of the client that reads. Undefined when no client can delay the work. */
  readonly pace?: Pace
  /** Ends the work and releases the slot. */
  readonly evict?: () => void
}

/** A waiting request. */
interface Waiting {
  readonly request: SlotRequest
  readonly start: () => void
}

/**
 * Limits the Git processes that run and the requests that wait.
 *
 * A holder gets another slot while it holds fewer slots than are free. A single holder gets half of
 * all slots, a second holder half of the rest, and so on, so a new holder finds a free slot (the
 * dynamic thresholds of A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds for
 * shared-memory packet switches", 1998). The next request to start is the one whose holder has the
 * fewest slots. A client that reads too slowly loses its slot when another request finds none.
 */
export class ProcessLimit {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #running = new Set<SlotRequest>()
  readonly #waiting: Waiting[] = []
  readonly #held = new Map<string, number>()

  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
  }

  /**
   * Waits for a slot.
   *
   * @returns a function that releases the slot. Further calls have no effect.
   * @throws GitError BUSY when too many requests wait, in total or of this holder.
   */
  async acquire(request: SlotRequest = {}): Promise<() => void> {
    if (!this.#admits(request)) this.#evictSlow()
    if (this.#admits(request)) this.#take(request)
    else if (!this.#mayWait(request)) throw new GitError('BUSY', 'too many processes')
    else await new Promise<void>((start) => this.#waiting.push({ request, start }))
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#release(request)
    }
  }

  #admits({ holder }: SlotRequest): boolean {
    const free = this.#maxRunning - this.#running.size
    return free > 0 && this.#heldBy(holder) < free
  }

  #mayWait({ holder }: SlotRequest): boolean {
    const free = this.#maxWaiting - this.#waiting.length
    const own =
      holder === undefined
        ? 0
        : this.#waiting.filter(({ request }) => request.holder === holder).length
    return own < free
  }

  #heldBy(holder: string | undefined): number {
    return holder === undefined ? 0 : (this.#held.get(holder) ?? 0)
  }

  #take(request: SlotRequest): void {
    this.#running.add(request)
    if (request.holder !== undefined)
      this.#held.set(request.holder, this.#heldBy(request.holder) + 1)
  }

  #release(request: SlotRequest): void {
    this.#running.delete(request)
    if (request.holder !== undefined) {
      const left = this.#heldBy(request.holder) - 1
      if (left > 0) this.#held.set(request.holder, left)
      else this.#held.delete(request.holder)
    }
    for (
      let next = this.#next();
      next !== undefined && this.#admits(next.request);
      next = this.#next()
    ) {
      this.#waiting.splice(this.#waiting.indexOf(next), 1)
      this.#take(next.request)
      next.start()
    }
  }

  /** Returns the first waiting request whose holder has the fewest slots. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined
    for (const waiting of this.#waiting) {
      if (
        next === undefined ||
        this.#heldBy(waiting.request.holder) < this.#heldBy(next.request.holder)
      )
        next = waiting
    }
    return next
  }

  #evictSlow(): void {
    for (const { pace, evict } of this.#running) if (pace?.isTooSlow()) evict?.()
  }
}
