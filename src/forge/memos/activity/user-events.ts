import type { Tx } from '../../../platform/database/schema.ts'
import type { AccountsApp } from '../../accounts/ports.ts'
import {
  type EventLogRows,
  type EventPage,
  PAGE_SIZE,
  pageOfEvents,
  pruneExpired,
  pruneSometimes,
  startOfEvents,
} from '../../core/event-logs.ts'
import { createEventWatches, type EventWatch, type StartTimer } from '../../core/event-watches.ts'
import type { User } from '../../core/schema.ts'
import { isReadable } from '../memo-access.ts'
import type { MemoEvent } from '../memo-view.ts'
import type { UserEvent } from '../schema.ts'
import {
  deleteUserEvents,
  findAccountsWithEvents,
  findNewestEventId,
  findUserEventLog,
  insertUserEvent,
  listOldestEvents,
  listUserEvents,
  type UserEventPage,
} from './user-events.rows.ts'

/** Types of events that an account can watch. */
export type UserEventType = UserEvent['type']

/** An event, for the account that reads it. */
export type OwnEvent = UserEventPage['events'][number]

/** Events of an account, in the order of their commits. */
export type OwnEventPage = EventPage<OwnEvent>

/** The maximum number of events that an account retains after pruning: some hundred KiB. */
export const MAX_USER_EVENTS = 10_000

const ROWS: EventLogRows<UserEvent> = {
  maxEvents: MAX_USER_EVENTS,
  count: async (db, userId) => (await findUserEventLog(db, userId)).count,
  listOldest: listOldestEvents,
  delete: deleteUserEvents,
}

/**
 * Records an event of an account, in the transaction of the change.
 *
 * @param resource the `uid` of the memo, or the number of the notification.
 */
export async function recordUserEvent(
  app: AccountsApp,
  tx: Tx,
  userId: number,
  type: UserEventType,
  resource: string,
): Promise<void> {
  const stored = await insertUserEvent(tx, {
    user_id: userId,
    type,
    resource,
    time: app.clock.now(),
  })
  pruneSometimes({ app, tx }, ROWS, userId, stored)
}

const MEMO_EVENT_TYPES: Readonly<Record<MemoEvent['type'], UserEventType>> = {
  'memo.created': 'MEMO_CREATED',
  'memo.updated': 'MEMO_UPDATED',
  'memo.deleted': 'MEMO_DELETED',
}

/**
 * Records a change of a memo for its creator, and a new comment also for the creator of the memo
 * commented on, if that user may read the comment.
 */
export async function recordMemoEvents(
  app: AccountsApp,
  tx: Tx,
  { type, view, commentedOn }: MemoEvent,
): Promise<void> {
  const { memo } = view
  await recordUserEvent(app, tx, memo.creator_id, MEMO_EVENT_TYPES[type], memo.uid)
  if (!commentedOn) return
  const userId = commentedOn.memo.creator_id
  if (!isReadable(memo, { userId, publicOnly: false })) return
  await recordUserEvent(app, tx, userId, 'MEMO_COMMENT_CREATED', memo.uid)
}

/**
 * Returns the position where an event stream of an account starts.
 *
 * @param position the id of the last event that the client received; undefined to start with new
 *   events.
 */
export async function startOfUserEvents(
  app: AccountsApp,
  user: User,
  position: number | undefined,
): Promise<number> {
  return startOfEvents(position, await findUserEventLog(app.db, user.id))
}

/**
 * Returns the events of an account after a position.
 *
 * @param types the types to return; undefined for all.
 */
export async function readUserEvents(
  app: AccountsApp,
  user: User,
  position: number,
  types: readonly UserEventType[] | undefined,
): Promise<OwnEventPage> {
  const { log, events } = await listUserEvents(app.db, user.id, position, types, PAGE_SIZE)
  return pageOfEvents(position, log, events)
}

/** Prunes the events that are older than `RETENTION_MS`, oldest first, in steps. */
export function pruneUserEvents(app: AccountsApp): Promise<void> {
  return pruneExpired(app, ROWS)
}

/** The maximum number of open event streams per account: a dozen browser tabs and some programs. */
export const MAX_USER_STREAMS = 16

/** The watches of all accounts. */
export interface UserEventWatches {
  /** Opens a watch, which closes when `until` aborts. */
  open(userId: number, until: AbortSignal): Promise<EventWatch>
}

/** Creates the watches of all accounts. */
export function createUserEventWatches(
  app: AccountsApp,
  startTimer?: StartTimer,
): UserEventWatches {
  const watches = createEventWatches(
    app,
    {
      signal: app.signals.events,
      findNewest: () => findNewestEventId(app.db),
      findSubjects: async (after) =>
        (await findAccountsWithEvents(app.db, after)).map(({ user_id, newest }) => ({
          subjectId: user_id,
          newest,
        })),
    },
    startTimer,
  )
  return {
    open: (userId, until) =>
      watches.open(userId, { key: userId, limit: MAX_USER_STREAMS, scope: 'account' }, until),
  }
}
