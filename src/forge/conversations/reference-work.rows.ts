import type { Insertable } from 'kysely'
import { type DueQueue, dueQueue } from '../../platform/database/due-queue.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { ReferenceWork, ReferenceWorkTable, StoredReference } from './schema.ts'

/** Stores work, in the transaction that records the push or the merge. */
export async function insertReferenceWork(
  tx: Tx,
  work: readonly Insertable<ReferenceWorkTable>[],
): Promise<void> {
  if (work.length > 0) await tx.insertInto('reference_work').values(work).execute()
}

export function findReferenceWork(db: Db, id: number): Promise<ReferenceWork | undefined> {
  return db.selectFrom('reference_work').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the ids of the work of a repository that is due, in its order. */
export async function dueReferenceWork(
  db: Db,
  repositoryId: number,
  now: number,
  limit: number,
): Promise<number[]> {
  const rows = await db
    .selectFrom('reference_work')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('due_time', '<=', now)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Records that one more commit is done, in the transaction that does the rest.
 *
 * @returns whether this transaction is the one that does the commit.
 */
export async function takeCommit(tx: Tx, id: number, index: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('reference_work')
    .set({ done: index + 1 })
    .where('id', '=', id)
    .where('done', '<=', index)
    .executeTakeFirst()
  return numUpdatedRows > 0
}

/** Deletes work that is done. @returns whether this transaction is the one that deletes it. */
export async function deleteReferenceWork(db: Db, id: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('reference_work')
    .where('id', '=', id)
    .executeTakeFirst()
  return numDeletedRows > 0
}

/** Sets the time of the next attempt. @param dueTime Unix milliseconds. */
export async function restReferenceWork(tx: Tx, id: number, dueTime: number): Promise<void> {
  await tx
    .updateTable('reference_work')
    .set((eb) => ({ due_time: dueTime, tries: eb('tries', '+', 1) }))
    .where('id', '=', id)
    .execute()
}

/** Makes all work due. The stop of the server may have caused the failures. */
export async function wakeReferenceWork(tx: Tx, now: number): Promise<void> {
  await tx
    .updateTable('reference_work')
    .set({ due_time: now })
    .where('due_time', '>', now)
    .execute()
}

/** Returns the queue of the work, by its repositories. */
export function referenceWorkQueue(db: Db): DueQueue {
  const work = db
    .selectFrom('reference_work')
    .select(['id', 'repository_id as ownerId', 'due_time as dueTime'])
  return dueQueue(db, work)
}

/** Returns the references of a repository by a commit and its copies. */
export function referencesByChange(
  db: Db,
  repositoryId: number,
  changeKey: string,
  targetIds: readonly number[],
): Promise<Pick<StoredReference, 'id' | 'target_id'>[]> {
  return db
    .selectFrom('issue_references')
    .select(['id', 'target_id'])
    .where('repository_id', '=', repositoryId)
    .where('change_key', '=', changeKey)
    .where('target_id', 'in', targetIds)
    .execute()
}

/** Replaces the commit of references by one of its copies. */
export async function replaceCommit(
  tx: Tx,
  ids: readonly number[],
  commitId: string,
): Promise<void> {
  if (ids.length === 0) return
  await tx
    .updateTable('issue_references')
    .set({ commit_id: commitId })
    .where('id', 'in', ids)
    .execute()
}

/**
 * Returns what the texts of a pull request say about issues: the latest word about each, for the
 * issues that were named last.
 */
export function wordsOfPull(db: Db, pullId: number, limit: number): Promise<StoredReference[]> {
  const latest = db
    .selectFrom('issue_references')
    .select((eb) => eb.fn.max('id').as('id'))
    .where('source_id', '=', pullId)
    .where('action', '<>', 'none')
    .groupBy('target_id')
    .orderBy('id', 'desc')
    .limit(limit)
  return db
    .selectFrom('issue_references')
    .selectAll()
    .where('id', 'in', db.selectFrom(latest.as('latest')).select('latest.id'))
    .orderBy('id')
    .execute()
}
