import { numbersOf, prepareQuery } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import { findActiveUsersByUsernameKeys } from '../accounts/users/users.rows.ts'
import { grouped } from './conversations.rows.ts'

/** Adds a participant who has seen nothing yet. Has no effect on existing participants. */
export async function insertParticipants(
  tx: Tx,
  conversationId: number,
  userIds: readonly number[],
): Promise<void> {
  if (userIds.length === 0) return
  await tx
    .insertInto('issue_participants')
    .values(userIds.map((user_id) => ({ issue_id: conversationId, user_id, seen: 0 })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/**
 * Adds the user who makes a change as a participant who has seen everything. Has no effect on
 * existing participants.
 */
export async function insertActor(tx: Tx, conversationId: number, userId: number): Promise<void> {
  await tx
    .insertInto('issue_participants')
    .columns(['issue_id', 'user_id', 'seen'])
    .expression((eb) =>
      eb
        .selectFrom('issues')
        .select((pull) => ['id', pull.val(userId).as('user_id'), 'change_count'])
        .where('id', '=', conversationId),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Remembers that texts of a conversation have mentioned active users, by their folded names. */
export async function insertMentions(
  tx: Tx,
  conversationId: number,
  names: readonly string[],
): Promise<void> {
  const users = names.length === 0 ? [] : await findActiveUsersByUsernameKeys(tx, names)
  if (users.length === 0) return
  await tx
    .insertInto('issue_mentions')
    .values(users.map(({ id }) => ({ user_id: id, issue_id: conversationId })))
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
    .selectFrom('issue_participants')
    .select('user_id')
    .where('issue_id', '=', conversationId)
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
    .updateTable('issue_participants')
    .set((eb) => ({
      seen: eb
        .selectFrom('issues')
        .select('change_count')
        .where('id', '=', conversationId)
        .$asScalar(),
    }))
    .where('issue_id', '=', conversationId)
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
    .updateTable('issue_participants')
    .set({ seen: changeCount })
    .where('issue_id', '=', conversationId)
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
    .selectFrom('issue_participants')
    .innerJoin('issues', 'issues.id', 'issue_participants.issue_id')
    .select('issues.id')
    .where('issue_participants.issue_id', 'in', numbersOf(conversationIds))
    .where('issue_participants.user_id', '=', userId)
    .whereRef('issue_participants.seen', '<', 'issues.change_count'),
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
  await tx.deleteFrom('issue_assignees').where('issue_id', '=', conversationId).execute()
  if (userIds.length === 0) return
  await tx
    .insertInto('issue_assignees')
    .values(userIds.map((user_id) => ({ issue_id: conversationId, user_id })))
    .execute()
}

/** Returns the ids of the assignees of a conversation. */
export async function assigneesOf(tx: Tx, conversationId: number): Promise<number[]> {
  const found = await tx
    .selectFrom('issue_assignees')
    .select('user_id')
    .where('issue_id', '=', conversationId)
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
  return grouped(rows.map(({ issue_id, user_id }) => [issue_id, user_id]))
}

const assigneesAmong = prepareQuery((db, conversationIds: string) =>
  db
    .selectFrom('issue_assignees')
    .select(['issue_id', 'user_id'])
    .where('issue_id', 'in', numbersOf(conversationIds))
    .orderBy('issue_id')
    .orderBy('user_id'),
)
