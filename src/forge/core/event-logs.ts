import { transaction } from '../../platform/database/database.ts'
import { onCommit } from '../../platform/database/rollbacks.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Core } from './core.ts'
import { DomainError } from './errors.ts'

/**
 * Event logs of accounts and repositories. Readers continue from a position, which is the id of an
 * event. The oldest events are pruned first.
 */

/**
 * How long a client may be disconnected and still resume with its cursor, unless the log reaches
 * its maximum length earlier.
 */
export const RETENTION_MS = 7 * 24 * 60 * 60 * 1000

/**
 * Events deleted in one transaction. Every other write waits a few milliseconds for it. The maximum
 * length of every log is a multiple of it.
 */
const PRUNE_STEP = 500

/**
 * Maximum number of consecutive steps. Later events trigger more steps, so pruning never delays
 * shutdown.
 */
const MAX_PRUNE_STEPS = 20

/** Events read at once, with their subjects. A stream holds this number in memory. */
export const PAGE_SIZE = 16

/** Consecutive events of a log, in commit order. */
export interface EventPage<Event> {
  readonly events: readonly Event[]
  /** The position after these events and after any that were filtered out. */
  readonly next: number
  /** Whether the log may already have more events. */
  readonly more: boolean
}

/** The range of a log. */
interface Extent {
  /** Id of the latest event. */
  readonly newest: number
  /** Events with ids up to this one have been deleted. */
  readonly floor: number
}

/** Access to the rows of one kind of log. */
export interface EventLogRows<Event extends { readonly id: number; readonly time: number }> {
  /** Maximum length of a log. A log may exceed it until the next pruning. */
  readonly maxEvents: number
  count(db: Db, subjectId: number): Promise<number>
  /** Returns the oldest events of all logs or of one, in order. */
  listOldest(tx: Tx, subjectId: number | undefined, limit: number): Promise<Event[]>
  /** @param events the oldest events of their logs, in order. */
  delete(tx: Tx, events: readonly Event[]): Promise<void>
}

/**
 * Returns the start position of a stream: the position it resumes from, or the end of the log if
 * undefined.
 */
export function startOfEvents(position: number | undefined, log: Extent): number {
  checkPosition(position ?? log.newest, log)
  return position ?? log.newest
}

/** Creates a page from the events after a position, at most `PAGE_SIZE`. */
export function pageOfEvents<Event extends { readonly id: number }>(
  position: number,
  log: Extent,
  events: readonly Event[],
): EventPage<Event> {
  checkPosition(position, log)
  const more = events.length === PAGE_SIZE
  return { events, next: more ? (events.at(-1)?.id ?? position) : log.newest, more }
}

function checkPosition(position: number, { floor, newest }: Extent): void {
  // A position beyond the newest event was issued before the database was restored from a backup.
  if (position < floor || position > newest) throw new DomainError('CURSOR_EXPIRED')
}

/**
 * Prunes old events after every `PRUNE_STEP` new ones. Pruning therefore costs about as much per
 * event as recording does, and needs no timer.
 *
 * @param stored the id of the new event, and the number of events in its log.
 */
export function pruneSometimes<Event extends { readonly id: number; readonly time: number }>(
  { app, tx }: { readonly app: Core; readonly tx: Tx },
  rows: EventLogRows<Event>,
  subjectId: number,
  { id, count }: { readonly id: number; readonly count: number },
): void {
  const isExpiring = id % PRUNE_STEP === 0
  const isSurplus = count > rows.maxEvents && count % PRUNE_STEP === 0
  if (!isExpiring && !isSurplus) return
  onCommit(tx, () => {
    if (isExpiring) app.background.run('prune expired events', () => pruneExpired(app, rows))
    if (isSurplus)
      app.background.run('prune surplus events', () => pruneSurplus(app, rows, subjectId))
  })
}

/** Deletes events older than `RETENTION_MS`, oldest first, in steps. */
export async function pruneExpired<Event extends { readonly id: number; readonly time: number }>(
  app: Core,
  rows: EventLogRows<Event>,
): Promise<void> {
  const horizon = app.clock.now() - RETENTION_MS
  await repeat(() =>
    transaction(app.db, async (tx) => {
      const oldest = await rows.listOldest(tx, undefined, PRUNE_STEP)
      const young = oldest.findIndex(({ time }) => time >= horizon)
      await rows.delete(tx, young < 0 ? oldest : oldest.slice(0, young))
      return young < 0 && oldest.length === PRUNE_STEP
    }),
  )
}

/** Deletes the events that exceed the maximum length of a log, oldest first, in steps. */
async function pruneSurplus<Event extends { readonly id: number; readonly time: number }>(
  app: Core,
  rows: EventLogRows<Event>,
  subjectId: number,
): Promise<void> {
  await repeat(() =>
    transaction(app.db, async (tx) => {
      const count = await rows.count(tx, subjectId)
      const surplus = Math.min(count - rows.maxEvents, PRUNE_STEP)
      if (surplus > 0) await rows.delete(tx, await rows.listOldest(tx, subjectId, surplus))
      return count - surplus > rows.maxEvents
    }),
  )
}

/** Repeats a step until it returns false. */
async function repeat(step: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < MAX_PRUNE_STEPS; i++) if (!(await step())) return
}
