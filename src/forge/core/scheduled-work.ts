import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { DuePiece, DueQueue, WorkInProgress } from '../../platform/database/due-queue.ts'
import type { Core } from './core.ts'
import type { Signal } from './signal.ts'

/** A kind of work whose rows say when each piece is due. */
export interface DueWork extends DueQueue {
  /** Log message for a piece that failed because of a server fault. */
  readonly failure: string
  /** Maximum number of pieces that run at once. */
  readonly maxRunning: number
  /** Maximum for one owner, so that slow pieces of one account do not block the others. */
  readonly maxRunningPerOwner: number
  /** Notified when there may be more due work. */
  readonly signal: Signal
  /**
   * Runs a piece and records its result.
   *
   * @param until aborts the piece, which then counts as not started.
   */
  run(id: number, until: AbortSignal): Promise<void>
}

export interface DueWorker {
  /**
   * Aborts running pieces, which start again after a restart, and resolves once they have ended.
   */
  stop(): Promise<void>
}

/**
 * Pause after a server fault, such as a full disk. It will hardly clear up sooner, and the log must
 * not fill up.
 */
const FAULT_PAUSE_MS = 5_000

/** Node timers support at most 24 days. Checking once an hour costs nothing. */
const MAX_SLEEP_MS = 60 * 60 * 1000

/**
 * Runs work as it falls due until it is stopped. All state is in rows, so work that was due before
 * the start runs too.
 */
export function startDueWork(app: Core, work: DueWork): DueWorker {
  const stopping = new AbortController()
  // Each piece adds a listener, so the usual warning about many listeners does not apply.
  setMaxListeners(0, stopping.signal)
  const pieces = createPieces(app, work, stopping.signal)
  let round = new AbortController()
  const loop = async () => {
    while (!stopping.signal.aborted) {
      round = new AbortController()
      const seen = work.signal.count
      const timer = setTimeout(() => round.abort(), await pieces.startDue())
      await work.signal.after(seen, round.signal)
      clearTimeout(timer)
    }
    await pieces.settled()
  }
  const looping = loop()
  return {
    stop() {
      stopping.abort()
      round.abort()
      return looping
    },
  }
}

/** Runs due work until none is left. For tests, whose clock does not advance. */
export async function finishDueWork(app: Core, work: DueWork): Promise<void> {
  const pieces = createPieces(app, work, new AbortController().signal)
  do await pieces.startDue()
  while (await pieces.settled())
}

/** Manages the running pieces. */
function createPieces(app: Core, work: DueWork, until: AbortSignal) {
  const running = new Map<number, { readonly ownerId: number; readonly done: Promise<void> }>()
  let hasStarted = false

  const start = ({ id, ownerId }: DuePiece) => {
    const done = work
      .run(id, until)
      .catch((err: unknown) => {
        app.log.error({ err }, work.failure)
        // The piece stays busy during the pause. Otherwise it would be retried at once.
        return pause(FAULT_PAUSE_MS, undefined, { signal: until }).catch(() => {})
      })
      .then(() => {
        running.delete(id)
        work.signal.notify()
      })
    running.set(id, { ownerId, done })
    hasStarted = true
  }

  const busy = (): WorkInProgress => {
    const owners = [...running.values()].map(({ ownerId }) => ownerId)
    const runningOf = (id: number) => owners.filter((ownerId) => ownerId === id).length
    const ownerIds = [...new Set(owners)].filter((id) => runningOf(id) >= work.maxRunningPerOwner)
    return { ids: [...running.keys()], ownerIds }
  }

  return {
    /**
     * Starts due pieces up to the limits.
     * @returns milliseconds until there may be more.
     */
    async startDue(): Promise<number> {
      const now = app.clock.now()
      try {
        while (!until.aborted && running.size < work.maxRunning) {
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
    /**
     * Resolves once all running pieces have ended.
     * @returns whether any has started since the last call.
     */
    async settled(): Promise<boolean> {
      await Promise.all([...running.values()].map(({ done }) => done))
      const result = hasStarted
      hasStarted = false
      return result
    },
  }
}
