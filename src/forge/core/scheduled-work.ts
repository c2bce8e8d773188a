import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { accountHolder } from '../../platform/concurrency/holders.ts'
import { Shares } from '../../platform/concurrency/shares.ts'
import type { DuePiece, DueQueue } from '../../platform/database/due-queue.ts'
import type { Core } from './core.ts'
import type { Signal } from './signal.ts'

/** A kind of work whose rows say when each piece is due. */
export interface DueWork extends DueQueue {
  /** Log message for a piece that failed because of a server fault. */
  readonly failure: string
  /** Maximum number of pieces that run at once. */
  readonly maxRunning: number
  /** Maximum for one owner. */
  readonly maxRunningPerOwner: number
  /**
   * More pieces, each the only one of its owner, so that slow pieces of a few owners do not block
   * the others. Default: none.
   */
  readonly firstPlaces?: number
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

/** An owner that has no work, to find out whether there is a place at all. */
const NOBODY = accountHolder(0)

/** Owners that one round of turns remembers. */
const MAX_OWNERS_PER_ROUND = 100

/**
 * Manages the running pieces. Owners share them fairly, and have their turns one after the other,
 * however long the pieces of one owner have been due.
 */
function createPieces(app: Core, work: DueWork, until: AbortSignal) {
  const running = new Map<number, { readonly ownerId: number; readonly done: Promise<void> }>()
  const shares = new Shares({
    max: work.maxRunning,
    firstPlaces: work.firstPlaces ?? 0,
    maxPerHolder: work.maxRunningPerOwner,
  })
  /** Owners that have had their turn in the present round. */
  const served = new Set<number>()
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
        shares.release(accountHolder(ownerId))
        work.signal.notify()
      })
    running.set(id, { ownerId, done })
    shares.take(accountHolder(ownerId))
    if (served.size === MAX_OWNERS_PER_ROUND) served.clear()
    served.add(ownerId)
    hasStarted = true
  }

  /** Returns the next piece of an owner that has not had its turn, or else of any that may have one. */
  const next = async (now: number): Promise<DuePiece | undefined> => {
    if (!shares.admits(NOBODY)) return undefined
    const ids = [...running.keys()]
    const owners = [...new Set([...running.values()].map(({ ownerId }) => ownerId))]
    const first = await work.next(now, { ids, ownerIds: [...new Set([...owners, ...served])] })
    if (first || (owners.length === 0 && served.size === 0)) return first
    served.clear()
    const ownerIds = owners.filter((id) => !shares.admits(accountHolder(id)))
    return work.next(now, { ids, ownerIds })
  }

  return {
    /**
     * Starts due pieces up to the limits.
     * @returns milliseconds until there may be more.
     */
    async startDue(): Promise<number> {
      const now = app.clock.now()
      try {
        for (let piece = await next(now); piece && !until.aborted; piece = await next(now))
          start(piece)
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
