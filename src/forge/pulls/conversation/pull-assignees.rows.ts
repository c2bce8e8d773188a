import type { Tx } from '../../../platform/database/schema.ts'

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
