import type { Insertable, Selectable } from 'kysely'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'

/** Returns the call of a user with a request id. */
export function findIssueRequest(
  db: Db,
  userId: number,
  requestId: string,
): Promise<Selectable<Schema['issue_requests']> | undefined> {
  return db
    .selectFrom('issue_requests')
    .selectAll()
    .where('user_id', '=', userId)
    .where('request_id', '=', requestId)
    .executeTakeFirst()
}

/** Replaces the result of a stored call. */
export async function updateIssueRequest(
  tx: Tx,
  userId: number,
  requestId: string,
  result: string,
): Promise<void> {
  await tx
    .updateTable('issue_requests')
    .set({ result })
    .where('user_id', '=', userId)
    .where('request_id', '=', requestId)
    .execute()
}

/** Stores a call, and forgets those made before a time in Unix seconds. */
export async function insertIssueRequest(
  tx: Tx,
  request: Insertable<Schema['issue_requests']>,
  before: number,
): Promise<void> {
  await tx.deleteFrom('issue_requests').where('create_time', '<', before).execute()
  await tx.insertInto('issue_requests').values(request).execute()
}
