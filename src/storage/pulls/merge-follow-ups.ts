import type { Insertable } from 'kysely'
import { type DueQueue, dueQueue } from '../database/due-queue.ts'
import type { MergeFollowUp, MergeFollowUpsTable } from '../schema/pulls.ts'
import type { Db, Tx } from '../schema/schema.ts'

/** Commits written in one statement, whose parameters SQLite limits. */
const BATCH = 500

/** Stores what follows from a merge. */
export async function insertFollowUp(
  tx: Tx,
  followUp: Insertable<MergeFollowUpsTable>,
): Promise<void> {
  await tx.insertInto('merge_follow_ups').values(followUp).execute()
}

/** What still follows from the merge of a pull request; undefined when nothing does. */
export function findFollowUp(db: Db, pullId: number): Promise<MergeFollowUp | undefined> {
  return db
    .selectFrom('merge_follow_ups')
    .selectAll()
    .where('pull_request_id', '=', pullId)
    .executeTakeFirst()
}

/** The merged pull requests of a repository whose commits are not listed yet, the latest first. */
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

/** Stores commits that a pull request has brought, and that these are all. */
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

/** The first of the merged pull requests of a repository that have brought a commit. */
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

/** Says that nothing more follows from a merge. */
export async function deleteFollowUp(tx: Tx, pullId: number): Promise<void> {
  await tx.deleteFrom('merge_follow_ups').where('pull_request_id', '=', pullId).execute()
}

/** Says when to try again what has failed. @param dueTime Unix milliseconds. */
export async function restFollowUp(tx: Tx, pullId: number, dueTime: number): Promise<void> {
  await tx
    .updateTable('merge_follow_ups')
    .set((eb) => ({ due_time: dueTime, tries: eb('tries', '+', 1) }))
    .where('pull_request_id', '=', pullId)
    .execute()
}

/** Makes everything due: what rested when the server ended may have failed by that. */
export async function wakeAllFollowUps(tx: Tx, now: number): Promise<void> {
  await tx
    .updateTable('merge_follow_ups')
    .set({ due_time: now })
    .where('due_time', '>', now)
    .execute()
}

/**
 * What follows from merges as it falls due, by their pull requests, and by the repositories that
 * these went to.
 */
export function followUpQueue(db: Db): DueQueue {
  const followUps = db
    .selectFrom('merge_follow_ups')
    .select(['pull_request_id as id', 'repository_id as ownerId', 'due_time as dueTime'])
  return dueQueue(db, followUps)
}
