import { type Tx, transaction } from '../../storage/database.ts'
import {
  deleteUserEvents,
  findUserEventLog,
  insertUserEvent,
  listOldestEvents,
  listUserEvents,
  type UserEvent,
  type UserEventPage,
} from '../../storage/user-events.ts'
import type { App } from '../app.ts'
import { DomainError } from '../errors.ts'
import { isReadable } from '../memos/memo-access.ts'
import type { MemoEvent } from '../memos/memo-events.ts'
import type { User } from './users.ts'

/** Kinds of events that an account can watch. */
export type UserEventType = UserEvent['type']

/** An event of the account that reads it. */
export type OwnEvent = UserEventPage['events'][number]

/** Some of the events of an account, in the order in which they were committed. */
export interface OwnEventPage {
  readonly events: readonly OwnEvent[]
  /** Where to go on, behind these events and behind those of other types. */
  readonly next: number
  /** Whether there may be more already. */
  readonly more: boolean
}

/** How long a client may be away and go on with its cursor, if its account is no busier than `MAX_EVENTS`. */
export const RETENTION_MS = 7 * 24 * 60 * 60 * 1000

/** Events kept for an account, save for those that a forgetting still to come will take: some hundred KiB. */
export const MAX_EVENTS = 10_000

/** Events forgotten in one transaction, for which every other write waits: a few milliseconds. Divides `MAX_EVENTS`. */
const FORGET_STEP = 500

/** Steps in a row. Forgetting goes on with the next events that are recorded, and never holds up the end of the server. */
const MAX_FORGET_STEPS = 20

/** Events read at once, with the memos and notifications that they are about: what a stream holds in memory. */
export const PAGE_SIZE = 16

/**
 * Records an event for those who watch the account, in the transaction of the change that it tells of.
 *
 * @param resource `uid` of the memo, or number of the notification.
 */
export async function recordUserEvent(
  app: App,
  tx: Tx,
  userId: number,
  type: UserEventType,
  resource: string,
): Promise<void> {
  const { id, count } = await insertUserEvent(tx, { user_id: userId, type, resource, time: app.clock.now() })
  // Now and then, so that forgetting costs each event about as much as making it did, and needs no timer.
  if (id % FORGET_STEP === 0) app.background.run('forget old events', () => forgetOldEvents(app))
  if (count > MAX_EVENTS && count % FORGET_STEP === 0) {
    app.background.run('forget surplus events', () => forgetSurplusEvents(app, userId))
  }
}

const MEMO_EVENT_TYPES: Readonly<Record<MemoEvent['type'], UserEventType>> = {
  'memo.created': 'MEMO_CREATED',
  'memo.updated': 'MEMO_UPDATED',
  'memo.deleted': 'MEMO_DELETED',
}

/**
 * Records a change of a memo: for its creator, and a new comment for the creator of the memo commented on as well, as
 * long as they can read it.
 */
export async function recordMemoEvents(app: App, tx: Tx, { type, view, commentedOn }: MemoEvent): Promise<void> {
  const { memo } = view
  await recordUserEvent(app, tx, memo.creator_id, MEMO_EVENT_TYPES[type], memo.uid)
  if (!commentedOn) return
  const userId = commentedOn.memo.creator_id
  if (!isReadable(memo, { userId, publicOnly: false })) return
  await recordUserEvent(app, tx, userId, 'MEMO_COMMENT_CREATED', memo.uid)
}

/**
 * Where a stream of the events of an account begins: behind the events up to a position, the id of an event.
 *
 * @param position where the last stream ended; undefined for what happens from now on.
 * @throws CURSOR_EXPIRED
 */
export async function startOfUserEvents(app: App, user: User, position: number | undefined): Promise<number> {
  const log = await findUserEventLog(app.db, user.id)
  checkPosition(position ?? log.newest, log)
  return position ?? log.newest
}

/**
 * The events of an account behind a position.
 *
 * @param types only these; undefined for all.
 * @throws CURSOR_EXPIRED when events behind the position have been forgotten.
 */
export async function readUserEvents(
  app: App,
  user: User,
  position: number,
  types: readonly UserEventType[] | undefined,
): Promise<OwnEventPage> {
  const { log, events } = await listUserEvents(app.db, user.id, position, types, PAGE_SIZE)
  checkPosition(position, log)
  const more = events.length === PAGE_SIZE
  return { events, next: more ? (events.at(-1)?.id ?? position) : log.newest, more }
}

function checkPosition(position: number, { floor, newest }: UserEventPage['log']): void {
  // A position beyond the newest event is from before the database was restored from a backup.
  if (position < floor || position > newest) throw new DomainError('CURSOR_EXPIRED')
}

/** Forgets the events that are older than `RETENTION_MS`, oldest first, in steps. */
export async function forgetOldEvents(app: App): Promise<void> {
  const horizon = app.clock.now() - RETENTION_MS
  await repeat(() =>
    transaction(app.db, async (tx) => {
      const oldest = await listOldestEvents(tx, undefined, FORGET_STEP)
      const young = oldest.findIndex(({ time }) => time >= horizon)
      await deleteUserEvents(tx, young < 0 ? oldest : oldest.slice(0, young))
      return young < 0 && oldest.length === FORGET_STEP
    }),
  )
}

/** Forgets the events that an account has beyond `MAX_EVENTS`, oldest first, in steps. */
async function forgetSurplusEvents(app: App, userId: number): Promise<void> {
  await repeat(() =>
    transaction(app.db, async (tx) => {
      const { count } = await findUserEventLog(tx, userId)
      const surplus = Math.min(count - MAX_EVENTS, FORGET_STEP)
      if (surplus > 0) await deleteUserEvents(tx, await listOldestEvents(tx, userId, surplus))
      return count - surplus > MAX_EVENTS
    }),
  )
}

/** Takes steps as long as the last one says that there is more to do. */
async function repeat(step: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < MAX_FORGET_STEPS; i++) if (!(await step())) return
}
