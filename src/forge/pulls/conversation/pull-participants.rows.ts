import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'

/** Adds a participant who has seen nothing yet. Has no effect on existing participants. */
export async function insertParticipants(
  tx: Tx,
  pullId: number,
  userIds: readonly number[],
): Promise<void> {
  if (userIds.length === 0) return
  await tx
    .insertInto('pull_participants')
    .values(userIds.map((user_id) => ({ pull_request_id: pullId, user_id, seen: 0 })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/**
 * Adds the user who makes a change as a participant who has seen everything. Has no effect on
 * existing participants.
 */
export async function insertActor(tx: Tx, pullId: number, userId: number): Promise<void> {
  await tx
    .insertInto('pull_participants')
    .columns(['pull_request_id', 'user_id', 'seen'])
    .expression((eb) =>
      eb
        .selectFrom('pull_requests')
        .select((pull) => ['id', pull.val(userId).as('user_id'), 'change_count'])
        .where('id', '=', pullId),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Returns whether a user takes part in a pull request. */
export async function isParticipant(db: Db, pullId: number, userId: number): Promise<boolean> {
  const row = await db
    .selectFrom('pull_participants')
    .select('user_id')
    .where('pull_request_id', '=', pullId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Records that a participant has seen the present state of a pull request. Has no effect for other
 * users.
 */
export async function markSeen(tx: Tx, pullId: number, userId: number): Promise<void> {
  await tx
    .updateTable('pull_participants')
    .set((eb) => ({
      seen: eb
        .selectFrom('pull_requests')
        .select('change_count')
        .where('id', '=', pullId)
        .$asScalar(),
    }))
    .where('pull_request_id', '=', pullId)
    .where('user_id', '=', userId)
    .execute()
}

/**
 * Records that a participant has seen a pull request up to a number of changes, unless the
 * participant has seen more.
 */
export async function markSeenUpTo(
  db: Db,
  pullId: number,
  userId: number,
  changeCount: number,
): Promise<void> {
  await db
    .updateTable('pull_participants')
    .set({ seen: changeCount })
    .where('pull_request_id', '=', pullId)
    .where('user_id', '=', userId)
    .where('seen', '<', changeCount)
    .execute()
}

/**
 * Returns which of some pull requests a user participates in and has not completely seen, by their
 * ids.
 */
export async function unseenPulls(
  db: Db,
  pullIds: readonly number[],
  userId: number,
): Promise<ReadonlySet<number>> {
  if (pullIds.length === 0) return new Set()
  const rows = await unseenAmong(db, JSON.stringify(pullIds), userId)
  return new Set(rows.map(({ id }) => id))
}

const unseenAmong = prepareQuery((db, pullIds: string, userId: number) =>
  db
    .selectFrom('pull_participants')
    .innerJoin('pull_requests', 'pull_requests.id', 'pull_participants.pull_request_id')
    .select('pull_requests.id')
    .where('pull_participants.pull_request_id', 'in', numbersOf(pullIds))
    .where('pull_participants.user_id', '=', userId)
    .whereRef('pull_participants.seen', '<', 'pull_requests.change_count'),
)

/**
 * Replaces the assignees of a pull request.
 *
 * @throws a foreign key violation if one of the users was deleted.
 */
export async function replacePullAssignees(
  tx: Tx,
  pullId: number,
  userIds: readonly number[],
): Promise<void> {
  await tx.deleteFrom('pull_request_assignees').where('pull_request_id', '=', pullId).execute()
  if (userIds.length === 0) return
  await tx
    .insertInto('pull_request_assignees')
    .values(userIds.map((user_id) => ({ pull_request_id: pullId, user_id })))
    .execute()
}

/** Returns the ids of the assignees of a pull request. */
export async function assigneesOf(tx: Tx, pullId: number): Promise<number[]> {
  const found = await tx
    .selectFrom('pull_request_assignees')
    .select('user_id')
    .where('pull_request_id', '=', pullId)
    .execute()
  return found.map(({ user_id }) => user_id)
}
