import { numbersOf, prepareQuery } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import { byConversation } from './conversations.rows.ts'

/** Adds a participant who has seen nothing yet. Has no effect on existing participants. */
export async function insertParticipants(
  tx: Tx,
  conversationId: number,
  userIds: readonly number[],
): Promise<void> {
  if (userIds.length === 0) return
  await tx
    .insertInto('pull_participants')
    .values(userIds.map((user_id) => ({ pull_request_id: conversationId, user_id, seen: 0 })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/**
 * Adds the user who makes a change as a participant who has seen everything. Has no effect on
 * existing participants.
 */
export async function insertActor(tx: Tx, conversationId: number, userId: number): Promise<void> {
  await tx
    .insertInto('pull_participants')
    .columns(['pull_request_id', 'user_id', 'seen'])
    .expression((eb) =>
      eb
        .selectFrom('pull_requests')
        .select((pull) => ['id', pull.val(userId).as('user_id'), 'change_count'])
        .where('id', '=', conversationId),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Returns whether a user takes part in a conversation. */
export async function isParticipant(
  db: Db,
  conversationId: number,
  userId: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('pull_participants')
    .select('user_id')
    .where('pull_request_id', '=', conversationId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Records that a participant has seen the present state of a conversation. Has no effect for other
 * users.
 */
export async function markSeen(tx: Tx, conversationId: number, userId: number): Promise<void> {
  await tx
    .updateTable('pull_participants')
    .set((eb) => ({
      seen: eb
        .selectFrom('pull_requests')
        .select('change_count')
        .where('id', '=', conversationId)
        .$asScalar(),
    }))
    .where('pull_request_id', '=', conversationId)
    .where('user_id', '=', userId)
    .execute()
}

/**
 * Records that a participant has seen a conversation up to a number of changes, unless the
 * participant has seen more.
 */
export async function markSeenUpTo(
  db: Db,
  conversationId: number,
  userId: number,
  changeCount: number,
): Promise<void> {
  await db
    .updateTable('pull_participants')
    .set({ seen: changeCount })
    .where('pull_request_id', '=', conversationId)
    .where('user_id', '=', userId)
    .where('seen', '<', changeCount)
    .execute()
}

/**
 * Returns which of some conversations a user participates in and has not completely seen, by their
 * ids.
 */
export async function unseenConversations(
  db: Db,
  conversationIds: readonly number[],
  userId: number,
): Promise<ReadonlySet<number>> {
  if (conversationIds.length === 0) return new Set()
  const rows = await unseenAmong(db, JSON.stringify(conversationIds), userId)
  return new Set(rows.map(({ id }) => id))
}

const unseenAmong = prepareQuery((db, conversationIds: string, userId: number) =>
  db
    .selectFrom('pull_participants')
    .innerJoin('pull_requests', 'pull_requests.id', 'pull_participants.pull_request_id')
    .select('pull_requests.id')
    .where('pull_participants.pull_request_id', 'in', numbersOf(conversationIds))
    .where('pull_participants.user_id', '=', userId)
    .whereRef('pull_participants.seen', '<', 'pull_requests.change_count'),
)

/**
 * Replaces the assignees of a conversation.
 *
 * @throws a foreign key violation if one of the users was deleted.
 */
export async function replaceAssignees(
  tx: Tx,
  conversationId: number,
  userIds: readonly number[],
): Promise<void> {
  await tx
    .deleteFrom('pull_request_assignees')
    .where('pull_request_id', '=', conversationId)
    .execute()
  if (userIds.length === 0) return
  await tx
    .insertInto('pull_request_assignees')
    .values(userIds.map((user_id) => ({ pull_request_id: conversationId, user_id })))
    .execute()
}

/** Returns the ids of the assignees of a conversation. */
export async function assigneesOf(tx: Tx, conversationId: number): Promise<number[]> {
  const found = await tx
    .selectFrom('pull_request_assignees')
    .select('user_id')
    .where('pull_request_id', '=', conversationId)
    .execute()
  return found.map(({ user_id }) => user_id)
}

/** Returns the ids of the assignees of conversations, by the id of the conversation, sorted. */
export async function assigneesOfConversations(
  db: Db,
  conversationIds: readonly number[],
): Promise<ReadonlyMap<number, number[]>> {
  if (conversationIds.length === 0) return new Map()
  const rows = await assigneesAmong(db, JSON.stringify(conversationIds))
  return byConversation(rows.map(({ pull_request_id, user_id }) => [pull_request_id, user_id]))
}

const assigneesAmong = prepareQuery((db, conversationIds: string) =>
  db
    .selectFrom('pull_request_assignees')
    .selectAll()
    .where('pull_request_id', 'in', numbersOf(conversationIds))
    .orderBy('pull_request_id')
    .orderBy('user_id'),
)
