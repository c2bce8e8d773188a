import type { Insertable } from 'kysely'
import { type DueQueue, dueQueue } from '../../../platform/database/due-queue.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type {
  MergeFollowUp,
  MergeFollowUpsTable,
  PullMergeAttempt,
  PullMergeAttemptsTable,
} from '../schema.ts'

/** Maximum number of commits in one statement. SQLite limits the number of parameters. */
const BATCH = 500

/** Stores the follow-ups of a merge. */
export async function insertFollowUp(
  tx: Tx,
  followUp: Insertable<MergeFollowUpsTable>,
): Promise<void> {
  await tx.insertInto('merge_follow_ups').values(followUp).execute()
}

/** Returns the pending follow-ups of the merge of a pull request. Undefined without any. */
export function findFollowUp(db: Db, pullId: number): Promise<MergeFollowUp | undefined> {
  return db
    .selectFrom('merge_follow_ups')
    .selectAll()
    .where('pull_request_id', '=', pullId)
    .executeTakeFirst()
}

/**
 * Returns the merged pull requests of a repository whose commits are not listed yet, the latest
 * first.
 */
export async function unlistedMerges(
  db: Db,
  repositoryId: number,
  limit: number,
): Promise<number[]> {
  const rows = await db
    .selectFrom('merge_follow_ups')
    .select('pull_request_id')
    .where('repository_id', '=', repositoryId)
    .where('is_listed', '=', 0)
    .orderBy('pull_request_id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ pull_request_id }) => pull_request_id)
}

/** Stores the complete list of the commits that a pull request has brought. */
export async function listMergedCommits(
  tx: Tx,
  followUp: MergeFollowUp,
  commitIds: readonly string[],
): Promise<void> {
  const { repository_id, pull_request_id } = followUp
  for (let start = 0; start < commitIds.length; start += BATCH) {
    const rows = commitIds
      .slice(start, start + BATCH)
      .map((id) => ({ repository_id, commit_id: Buffer.from(id, 'hex'), pull_request_id }))
    await tx
      .insertInto('merged_commits')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  await tx
    .updateTable('merge_follow_ups')
    .set({ is_listed: 1 })
    .where('pull_request_id', '=', pull_request_id)
    .execute()
}

/** Returns the first merged pull request of a repository that has brought a commit. */
export async function findPullThatBrought(
  db: Db,
  repositoryId: number,
  commitId: string,
): Promise<number | undefined> {
  const row = await db
    .selectFrom('merged_commits')
    .select('pull_request_id')
    .where('repository_id', '=', repositoryId)
    .where('commit_id', '=', Buffer.from(commitId, 'hex'))
    .orderBy('pull_request_id')
    .limit(1)
    .executeTakeFirst()
  return row?.pull_request_id
}

/** Returns the commits that the merged pull requests of a repository have brought, by their ids. */
export async function broughtCommits(
  db: Db,
  repositoryId: number,
): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows = await db
    .selectFrom('merged_commits')
    .select(['pull_request_id', 'commit_id'])
    .where('repository_id', '=', repositoryId)
    .execute()
  const commits = new Map<number, string[]>()
  for (const { pull_request_id, commit_id } of rows) {
    const brought = commits.get(pull_request_id) ?? []
    brought.push(commit_id.toString('hex'))
    commits.set(pull_request_id, brought)
  }
  return commits
}

/** Removes commits from those that a pull request has brought. */
export async function removeBrought(
  tx: Tx,
  repositoryId: number,
  pullId: number,
  commitIds: readonly string[],
): Promise<void> {
  for (const id of commitIds)
    await tx
      .deleteFrom('merged_commits')
      .where('repository_id', '=', repositoryId)
      .where('commit_id', '=', Buffer.from(id, 'hex'))
      .where('pull_request_id', '=', pullId)
      .execute()
}

/** Deletes the follow-ups of a merge, which are done. */
export async function deleteFollowUp(tx: Tx, pullId: number): Promise<void> {
  await tx.deleteFrom('merge_follow_ups').where('pull_request_id', '=', pullId).execute()
}

/** Sets the time of the next attempt. @param dueTime Unix milliseconds. */
export async function restFollowUp(tx: Tx, pullId: number, dueTime: number): Promise<void> {
  await tx
    .updateTable('merge_follow_ups')
    .set((eb) => ({ due_time: dueTime, tries: eb('tries', '+', 1) }))
    .where('pull_request_id', '=', pullId)
    .execute()
}

/** Sets the time of the next look at a follow-up that has not failed. @param dueTime Unix milliseconds. */
export async function postponeFollowUp(tx: Tx, pullId: number, dueTime: number): Promise<void> {
  await tx
    .updateTable('merge_follow_ups')
    .set({ due_time: dueTime })
    .where('pull_request_id', '=', pullId)
    .execute()
}

/** Makes the follow-up of a merge due, if there is one. */
export async function wakeFollowUp(tx: Tx, pullId: number, now: number): Promise<void> {
  await postponeFollowUp(tx, pullId, now)
}

/** Makes all follow-ups due. The stop of the server may have caused their failures. */
export async function wakeAllFollowUps(tx: Tx, now: number): Promise<void> {
  await tx
    .updateTable('merge_follow_ups')
    .set({ due_time: now })
    .where('due_time', '>', now)
    .execute()
}

/** Returns the queue of follow-ups, by their pull requests and by the base repositories. */
export function followUpQueue(db: Db): DueQueue {
  const followUps = db
    .selectFrom('merge_follow_ups')
    .select(['pull_request_id as id', 'repository_id as ownerId', 'due_time as dueTime'])
  return dueQueue(db, followUps)
}

/** Records an attempt to merge a pull request. Replaces an earlier attempt. */
export async function putMergeAttempt(
  tx: Tx,
  attempt: Insertable<PullMergeAttemptsTable>,
): Promise<void> {
  await tx
    .insertInto('pull_merge_attempts')
    .values(attempt)
    .onConflict((conflict) => conflict.column('pull_request_id').doUpdateSet(attempt))
    .execute()
}

/** Lists the attempts of pending updates, in the order of the merges of each. */
export async function listMergeAttempts(
  db: Db,
  updateIds: readonly number[],
): Promise<PullMergeAttempt[]> {
  if (updateIds.length === 0) return []
  return db
    .selectFrom('pull_merge_attempts')
    .selectAll()
    .where('pending_update_id', 'in', updateIds)
    .orderBy('pending_update_id')
    .orderBy('position')
    .execute()
}

/** Renames the branch of the attempts of a repository. */
export async function renameAttempts(
  tx: Tx,
  repositoryId: number,
  branch: string,
  name: string,
): Promise<void> {
  await tx
    .updateTable('pull_merge_attempts')
    .set({ base_branch: name })
    .where('base_branch', '=', branch)
    .where('pull_request_id', 'in', (eb) =>
      eb.selectFrom('issues').select('id').where('repository_id', '=', repositoryId),
    )
    .execute()
}

/** Deletes an attempt, unless another one has replaced it. */
export async function deleteMergeAttempt(
  tx: Tx,
  {
    pull_request_id,
    pending_update_id,
  }: Pick<PullMergeAttempt, 'pull_request_id' | 'pending_update_id'>,
): Promise<void> {
  await tx
    .deleteFrom('pull_merge_attempts')
    .where('pull_request_id', '=', pull_request_id)
    .where('pending_update_id', '=', pending_update_id)
    .execute()
}
