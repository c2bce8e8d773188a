import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Busy, DuePiece, DueQueue } from '../../storage/database/due-queue.ts'
import type { Core } from './core.ts'
import type { Signal } from './signal.ts'

/** Work that rows say is due. */
export interface DueWork extends DueQueue {
  /** For the log: what could not be done, when that is our own fault. */
  readonly failure: string
  /** Pieces under way at once. */
  readonly maxUnderWay: number
  /** Of which for one account, so that nobody's slow ones take all the places. */
  readonly maxUnderWayPerOwner: number
  /** Given when there may be more to do. */
  readonly signal: Signal
  /**
   * Does a piece and records what came of it.
   *
   * @param until gives it up as if it had not been begun.
   */
  run(id: number, until: AbortSignal): Promise<void>
}

export interface DueWorker {
  /**
   * Gives up what is under way, which is begun anew after the next start, and resolves when nothing
   * is left of it.
   */
  stop(): Promise<void>
}

/**
 * After a fault of our own, such as a full disk: it will hardly be gone sooner, and the log must
 * not fill up.
 */
const FAULT_PAUSE_MS = 5_000

/** Timers of Node are good for 24 days; looking once an hour costs nothing. */
const MAX_SLEEP_MS = 60 * 60 * 1000

/**
 * Does work as it falls due, until it is stopped. Rows are all it works from: what was due before
 * the start is done, too.
 */
export function startDueWork(app: Core, work: DueWork): DueWorker {
  const stopping = new AbortController()
  // Every piece listens; the usual warning about many listeners would be about many pieces.
  setMaxListeners(0, stopping.signal)
  const pieces = createPieces(app, work, stopping.signal)
  let round = new AbortController()
  const turn = async () => {
    while (!stopping.signal.aborted) {
      round = new AbortController()
      const seen = work.signal.count
      const timer = setTimeout(() => round.abort(), await pieces.startDue())
      await work.signal.after(seen, round.signal)
      clearTimeout(timer)
    }
    await pieces.settled()
  }
  const turning = turn()
  return {
    stop() {
      stopping.abort()
      round.abort()
      return turning
    },
  }
}

/** Does what is due, until nothing is: for tests, whose time does not pass by itself. */
export async function finishDueWork(app: Core, work: DueWork): Promise<void> {
  const pieces = createPieces(app, work, new AbortController().signal)
  do await pieces.startDue()
  while (await pieces.settled())
}

/** Pieces under way. */
function createPieces(app: Core, work: DueWork, until: AbortSignal) {
  const underWay = new Map<number, { readonly ownerId: number; readonly done: Promise<void> }>()

  const start = ({ id, ownerId }: DuePiece) => {
    const done = work
      .run(id, until)
      .catch((err: unknown) => {
        app.log.error({ err }, work.failure)
        // It counts as busy meanwhile, or it would be tried again at once.
        return pause(FAULT_PAUSE_MS, undefined, { signal: until }).catch(() => {})
      })
      .then(() => {
        underWay.delete(id)
        work.signal.notify()
      })
    underWay.set(id, { ownerId, done })
  }

  const busy = (): Busy => {
    const owners = [...underWay.values()].map(({ ownerId }) => ownerId)
    const places = (id: number) => owners.filter((ownerId) => ownerId === id).length
    const ownerIds = [...new Set(owners)].filter((id) => places(id) >= work.maxUnderWayPerOwner)
    return { ids: [...underWay.keys()], ownerIds }
  }

  return {
    /**
     * Starts what is due, as far as there are places. @returns milliseconds until there may be
     * more.
     */
    async startDue(): Promise<number> {
      const now = app.clock.now()
      try {
        while (!until.aborted && underWay.size < work.maxUnderWay) {
          const piece = await work.next(now, busy())
          if (!piece) break
          start(piece)
        }
        return Math.min(
          ((await work.nextTime(now)) ?? Number.POSITIVE_INFINITY) - now,
          MAX_SLEEP_MS,
        )
      } catch (err) {
        app.log.error({ err }, work.failure)
        return FAULT_PAUSE_MS
      }
    },
    /** Resolves once all pieces under way have ended. @returns whether there were any. */
    async settled(): Promise<boolean> {
      const running = [...underWay.values()]
      await Promise.all(running.map(({ done }) => done))
      return running.length > 0
    },
  }
}
