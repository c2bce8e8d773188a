import type { Insertable } from 'kysely'
import { commitInOrder } from '../../../platform/database/commit-order.ts'
import { prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { UserEvent, UserEventLog, UserEventsTable } from '../schema.ts'

/** The events of one account after a position, and its log, from one snapshot. */
export interface UserEventPage {
  readonly log: Pick<UserEventLog, 'newest' | 'floor'>
  readonly events: readonly Omit<UserEvent, 'user_id'>[]
}

/**
 * Stores an event.
 *
 * @returns the id of the event, and the number of stored events of its account.
 */
export async function insertUserEvent(
  tx: Tx,
  event: Insertable<UserEventsTable>,
): Promise<{ id: number; count: number }> {
  await commitInOrder(tx, 'user_events')
  const { id } = await tx
    .insertInto('user_events')
    .values(event)
    .returning('id')
    .executeTakeFirstOrThrow()
  const { count } = await tx
    .insertInto('user_event_logs')
    .values({ user_id: event.user_id, newest: id, floor: 0, count: 1 })
    .onConflict((conflict) =>
      conflict
        .column('user_id')
        .doUpdateSet((eb) => ({ newest: id, count: eb('user_event_logs.count', '+', 1) })),
    )
    .returning('count')
    .executeTakeFirstOrThrow()
  return { id, count }
}

/** Returns the log of an account. An account without events has an empty log. */
export async function findUserEventLog(db: Db, userId: number): Promise<UserEventLog> {
  const log = await db
    .selectFrom('user_event_logs')
    .selectAll()
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return log ?? { user_id: userId, newest: 0, floor: 0, count: 0 }
}

/**
 * Returns the events of an account with ids above `after`, in order.
 *
 * @param types the types to return; undefined for all.
 */
export async function listUserEvents(
  db: Db,
  userId: number,
  after: number,
  types: readonly UserEvent['type'][] | undefined,
  limit: number,
): Promise<UserEventPage> {
  // One statement reads the log and the events, so nothing is pruned or added in between.
  const rows = await db
    .selectFrom('user_event_logs as log')
    .leftJoin('user_events as event', (join) => {
      const behind = join.onRef('event.user_id', '=', 'log.user_id').on('event.id', '>', after)
      return types ? behind.on('event.type', 'in', types) : behind
    })
    .select(['log.newest', 'log.floor', 'event.id', 'event.type', 'event.resource', 'event.time'])
    .where('log.user_id', '=', userId)
    .orderBy('event.id')
    .limit(limit)
    .execute()
  const events = rows.flatMap(({ id, type, resource, time }) =>
    id === null || type === null || resource === null || time === null
      ? []
      : [{ id, type, resource, time }],
  )
  return { log: rows[0] ?? { newest: 0, floor: 0 }, events }
}

const accountsWithEvents = prepareQuery((db, after: number) =>
  db
    .selectFrom('user_events')
    .select(['user_id', ({ fn }) => fn.max('id').as('newest')])
    .where('id', '>', after)
    .groupBy('user_id')
    .orderBy('user_id'),
)

/**
 * Returns the accounts that have events with ids above `after`, each with the id of its latest
 * event, by account id.
 */
export function findAccountsWithEvents(
  db: Db,
  after: number,
): Promise<{ user_id: number; newest: number }[]> {
  return accountsWithEvents(db, after)
}

/** Returns the id of the latest stored event of all accounts; 0 when there is none. */
export async function findNewestEventId(db: Db): Promise<number> {
  const row = await db
    .selectFrom('user_events')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.id ?? 0
}

/** Returns the oldest stored events of all accounts or of one, in order. */
export function listOldestEvents(
  tx: Tx,
  userId: number | undefined,
  limit: number,
): Promise<UserEvent[]> {
  return tx
    .selectFrom('user_events')
    .selectAll()
    .$if(userId !== undefined, (query) => query.where('user_id', '=', userId ?? 0))
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Deletes events, which must be the oldest of their accounts, in order. */
export async function deleteUserEvents(
  tx: Tx,
  events: readonly Pick<UserEvent, 'id' | 'user_id'>[],
): Promise<void> {
  const forgotten = new Map<number, { floor: number; count: number }>()
  for (const { id, user_id } of events) {
    forgotten.set(user_id, { floor: id, count: (forgotten.get(user_id)?.count ?? 0) + 1 })
  }
  for (const [userId, { floor, count }] of forgotten) {
    await tx
      .deleteFrom('user_events')
      .where('user_id', '=', userId)
      .where('id', '<=', floor)
      .execute()
    await tx
      .updateTable('user_event_logs')
      .set((eb) => ({ floor, count: eb('count', '-', count) }))
      .where('user_id', '=', userId)
      .execute()
  }
}
