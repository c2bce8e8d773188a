import { transaction } from '../../storage/database/database.ts'
import type { Db, Tx } from '../../storage/schema/schema.ts'
import type { Core } from './core.ts'
import { DomainError } from './errors.ts'

/**
 * Logs of events, of accounts or of repositories: rows that are read behind a position, the id of
 * an event, and forgotten oldest first.
 */

/**
 * How long a client may be away and go on with its cursor, if what it watches is no busier than its
 * log is long.
 */
export const RETENTION_MS = 7 * 24 * 60 * 60 * 1000

/**
 * Events forgotten in one transaction, for which every other write waits: a few milliseconds.
 * Divides the length of every log.
 */
const FORGET_STEP = 500

/**
 * Steps in a row. Forgetting goes on with the next events that are recorded, and never holds up the
 * end of the server.
 */
const MAX_FORGET_STEPS = 20

/** Events read at once, with what they are about: what a stream holds in memory. */
export const PAGE_SIZE = 16

/** Some events of a log, in the order in which they were committed. */
export interface EventPage<Event> {
  readonly events: readonly Event[]
  /** Where to go on, behind these events and behind those that were left out. */
  readonly next: number
  /** Whether there may be more already. */
  readonly more: boolean
}

/** How far a log goes. */
interface Extent {
  /** Id of the latest event. */
  readonly newest: number
  /** Events with ids up to this one have been forgotten. */
  readonly floor: number
}

/** The rows of logs of one kind. */
export interface EventLogRows<Event extends { readonly id: number; readonly time: number }> {
  /** Events kept in one log, save for those that a forgetting still to come will take. */
  readonly maxEvents: number
  count(db: Db, subjectId: number): Promise<number>
  /** The oldest events of all logs or of one, in order. */
  listOldest(tx: Tx, subjectId: number | undefined, limit: number): Promise<Event[]>
  /** @param events the oldest ones of their logs, in order. */
  delete(tx: Tx, events: readonly Event[]): Promise<void>
}

/**
 * @returns where a stream begins that ended at a position, or begins now if that is undefined.
 * @throws CURSOR_EXPIRED
 */
export function startOfEvents(position: number | undefined, log: Extent): number {
  checkPosition(position ?? log.newest, log)
  return position ?? log.newest
}

/**
 * @param events those behind a position, `PAGE_SIZE` at most.
 * @throws CURSOR_EXPIRED when events behind the position have been forgotten.
 */
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
  // A position beyond the newest event is from before the database was restored from a backup.
  if (position < floor || position > newest) throw new DomainError('CURSOR_EXPIRED')
}

/**
 * Forgets old events now and then, after one was stored, so that forgetting costs each event about
 * as much as making it did, and needs no timer.
 *
 * @param stored the id of the event, and how many its log has now.
 */
export function pruneSometimes<Event extends { readonly id: number; readonly time: number }>(
  app: Core,
  rows: EventLogRows<Event>,
  subjectId: number,
  { id, count }: { readonly id: number; readonly count: number },
): void {
  if (id % FORGET_STEP === 0) app.background.run('forget old events', () => pruneExpired(app, rows))
  if (count > rows.maxEvents && count % FORGET_STEP === 0) {
    app.background.run('forget surplus events', () => forgetSurplus(app, rows, subjectId))
  }
}

/** Forgets the events that are older than `RETENTION_MS`, oldest first, in steps. */
export async function pruneExpired<Event extends { readonly id: number; readonly time: number }>(
  app: Core,
  rows: EventLogRows<Event>,
): Promise<void> {
  const horizon = app.clock.now() - RETENTION_MS
  await repeat(() =>
    transaction(app.db, async (tx) => {
      const oldest = await rows.listOldest(tx, undefined, FORGET_STEP)
      const young = oldest.findIndex(({ time }) => time >= horizon)
      await rows.delete(tx, young < 0 ? oldest : oldest.slice(0, young))
      return young < 0 && oldest.length === FORGET_STEP
    }),
  )
}

/** Forgets the events that a log has beyond its length, oldest first, in steps. */
async function forgetSurplus<Event extends { readonly id: number; readonly time: number }>(
  app: Core,
  rows: EventLogRows<Event>,
  subjectId: number,
): Promise<void> {
  await repeat(() =>
    transaction(app.db, async (tx) => {
      const count = await rows.count(tx, subjectId)
      const surplus = Math.min(count - rows.maxEvents, FORGET_STEP)
      if (surplus > 0) await rows.delete(tx, await rows.listOldest(tx, subjectId, surplus))
      return count - surplus > rows.maxEvents
    }),
  )
}

/** Takes steps as long as the last one says that there is more to do. */
async function repeat(step: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < MAX_FORGET_STEPS; i++) if (!(await step())) return
}
