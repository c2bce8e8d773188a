import { type Insertable, sql } from 'kysely'
import { type DueQueue, dueQueue } from '../../platform/database/due-queue.ts'
import { numbersOf } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Notice, NoticesTable } from './schema.ts'

/** Stores a change of which users are to be told. */
export async function insertNotice(tx: Tx, notice: Insertable<NoticesTable>): Promise<void> {
  await tx.insertInto('issue_notices').values(notice).execute()
}

export function findNotice(db: Db, id: number): Promise<Notice | undefined> {
  return db.selectFrom('issue_notices').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the notices as a queue. Their owners are conversations. */
export function noticeQueue(db: Db): DueQueue {
  const notices = db
    .selectFrom('issue_notices')
    .select(['id', 'issue_id as ownerId', 'due_time as dueTime'])
  return dueQueue(db, notices)
}

/** Records that the users up to an id have been told. */
export async function advanceNotice(tx: Tx, id: number, lastUserId: number): Promise<void> {
  await tx
    .updateTable('issue_notices')
    .set({ last_user_id: lastUserId, failures: 0 })
    .where('id', '=', id)
    .execute()
}

/** @param due_time Unix milliseconds. */
export async function postponeNotice(
  tx: Tx,
  id: number,
  failures: number,
  due_time: number,
): Promise<void> {
  await tx.updateTable('issue_notices').set({ failures, due_time }).where('id', '=', id).execute()
}

export async function deleteNotice(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('issue_notices').where('id', '=', id).execute()
}

/** A user who follows a conversation. */
interface Follower {
  readonly user_id: number
  /** Whether the user takes part in the conversation, or has subscribed to it. */
  readonly takes_part: number
}

/** Whom a query for followers looks for. */
interface FollowerSearch {
  readonly conversationId: number
  readonly repositoryId: number
  /** Whether the watchers of the repository are included. */
  readonly withWatchers: boolean
}

/**
 * Returns the followers of a conversation after a user id, by id. A user who follows for several
 * reasons is listed several times, with the same id. Reads as many rows for each reason as it may
 * return.
 */
export async function listFollowers(
  tx: Tx,
  { conversationId, repositoryId, withWatchers }: FollowerSearch,
  afterId: number,
  limit: number,
): Promise<Follower[]> {
  const participants = await tx
    .selectFrom('issue_participants')
    .select(['user_id', sql<number>`1`.as('takes_part')])
    .where('issue_id', '=', conversationId)
    .where('user_id', '>', afterId)
    .orderBy('user_id')
    .limit(limit)
    .execute()
  const subscribers = await tx
    .selectFrom('issue_subscriptions')
    .select(['user_id', sql<number>`1`.as('takes_part')])
    .where('issue_id', '=', conversationId)
    .where('subscribed', '=', 1)
    .where('user_id', '>', afterId)
    .orderBy('user_id')
    .limit(limit)
    .execute()
  if (!withWatchers) return [...participants, ...subscribers].sort(byId)
  const watchers = await tx
    .selectFrom('repository_subscriptions')
    .select(['user_id', sql<number>`0`.as('takes_part')])
    .where('repository_id', '=', repositoryId)
    .where('mode', '=', 'WATCHING')
    .where('user_id', '>', afterId)
    .orderBy('user_id')
    .limit(limit)
    .execute()
  return [...participants, ...subscribers, ...watchers].sort(byId)
}

function byId(one: Follower, other: Follower): number {
  return one.user_id - other.user_id
}

/** Returns the members of some teams after a user id, by id. */
export async function listMemberIds(
  tx: Tx,
  teamIds: readonly number[],
  afterId: number,
  limit: number,
): Promise<number[]> {
  if (teamIds.length === 0) return []
  const found = await tx
    .selectFrom('team_members')
    .select('user_id')
    .distinct()
    .where('team_id', 'in', numbersOf(JSON.stringify(teamIds)))
    .where('user_id', '>', afterId)
    .orderBy('user_id')
    .limit(limit)
    .execute()
  return found.map(({ user_id }) => user_id)
}

/** Users who are not notified, by the reason. */
interface Decisions {
  /** Those who ignore the repository. */
  readonly ignoring: ReadonlySet<number>
  /** Those who have ended their subscription to the conversation. */
  readonly left: ReadonlySet<number>
  /** Those who have blocked the user who made the change. */
  readonly blocking: ReadonlySet<number>
}

/** Returns what some users decided about being told of a change. */
export async function findDecisions(
  db: Db,
  { conversationId, repositoryId }: Pick<FollowerSearch, 'conversationId' | 'repositoryId'>,
  actorId: number | null,
  userIds: readonly number[],
): Promise<Decisions> {
  const among = numbersOf(JSON.stringify(userIds))
  const ignoring = await db
    .selectFrom('repository_subscriptions')
    .select('user_id')
    .where('repository_id', '=', repositoryId)
    .where('user_id', 'in', among)
    .where('mode', '=', 'IGNORED')
    .execute()
  const left = await db
    .selectFrom('issue_subscriptions')
    .select('user_id')
    .where('issue_id', '=', conversationId)
    .where('user_id', 'in', among)
    .where('subscribed', '=', 0)
    .execute()
  const blocking = await db
    .selectFrom('user_blocks')
    .select('blocker_id as user_id')
    .where('blocked_id', '=', actorId ?? 0)
    .where('blocker_id', 'in', among)
    .execute()
  const ids = (rows: { user_id: number }[]) => new Set(rows.map(({ user_id }) => user_id))
  return { ignoring: ids(ignoring), left: ids(left), blocking: ids(blocking) }
}
