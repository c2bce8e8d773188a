import { type ExpressionBuilder, type Insertable, sql } from 'kysely'
import { type DueQueue, dueQueue } from '../database/due-queue.ts'
import type { AutoMerge, AutoMergesTable, PullRequest } from '../schema/pulls.ts'
import type { Db, Schema, Tx } from '../schema/schema.ts'

/** The merge that a pull request is to have; undefined without one. */
export function findAutoMerge(db: Db, pullId: number): Promise<AutoMerge | undefined> {
  return db
    .selectFrom('auto_merges')
    .selectAll()
    .where('pull_request_id', '=', pullId)
    .executeTakeFirst()
}

/**
 * Stores a merge that is to happen. A second one for a pull request violates a PRIMARY KEY
 * constraint.
 */
export async function insertAutoMerge(tx: Tx, merge: Insertable<AutoMergesTable>): Promise<void> {
  await tx.insertInto('auto_merges').values(merge).execute()
}

/** Takes back that a pull request is to be merged. @returns whether it was. */
export async function deleteAutoMerge(tx: Tx, pullId: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('auto_merges')
    .where('pull_request_id', '=', pullId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** The merges that pull requests are to have, by the id of the pull request. */
export async function findAutoMerges(
  db: Db,
  pullIds: readonly number[],
): Promise<ReadonlyMap<number, AutoMerge>> {
  if (pullIds.length === 0) return new Map()
  const merges = await db
    .selectFrom('auto_merges')
    .selectAll()
    .where('pull_request_id', 'in', pullIds)
    .execute()
  return new Map(merges.map((merge) => [merge.pull_request_id, merge]))
}

/** Takes back that open pull requests are to be merged to a branch. @returns their ids. */
export async function deleteAutoMergesInto(
  tx: Tx,
  repositoryId: number,
  branch: string,
): Promise<number[]> {
  const deleted = await tx
    .deleteFrom('auto_merges')
    .where('pull_request_id', 'in', (eb) =>
      eb
        .selectFrom('pull_requests')
        .select('id')
        .where('repository_id', '=', repositoryId)
        .where('base_branch', '=', branch)
        .where('state', '=', sql.lit('OPEN' as const)),
    )
    .returning('pull_request_id')
    .execute()
  return deleted.map(({ pull_request_id }) => pull_request_id)
}

/** What makes a merge due; one that is due already keeps its place among the others. */
function dueFrom(now: number) {
  return (eb: ExpressionBuilder<Schema, 'auto_merges'>) => ({
    // As a parameter: in the text of the statement each moment would be another one to prepare.
    due_time: eb.case().when('due_time', '>', now).then(eb.val(now)).else(eb.ref('due_time')).end(),
    wake_count: eb('wake_count', '+', 1),
  })
}

/**
 * Makes merges of a repository due, as something has happened for which they may have waited.
 *
 * @param now Unix milliseconds.
 * @param pulls of which pull requests: of those that have this value; without one of all.
 */
export async function wakeAutoMerges(
  tx: Tx,
  now: number,
  repositoryId: number,
  pulls: Partial<Pick<PullRequest, 'base_branch' | 'head_commit'>> = {},
): Promise<void> {
  await tx
    .updateTable('auto_merges')
    .set(dueFrom(now))
    .where('repository_id', '=', repositoryId)
    .$if(Object.keys(pulls).length > 0, (query) =>
      query.where(({ exists, selectFrom }) =>
        exists(
          selectFrom('pull_requests')
            .select('id')
            .whereRef('pull_requests.id', '=', 'auto_merges.pull_request_id')
            .where((eb) => eb.and(pulls)),
        ),
      ),
    )
    .execute()
}

/**
 * Makes the merge of one pull request due, and those of the ones that wait for it, as far as they
 * are to have one.
 */
export async function wakeAutoMerge(tx: Tx, now: number, pullId: number): Promise<void> {
  await tx
    .updateTable('auto_merges')
    .set(dueFrom(now))
    .where((eb) =>
      eb.or([
        eb('pull_request_id', '=', pullId),
        eb(
          'pull_request_id',
          'in',
          eb
            .selectFrom('pull_dependencies')
            .select('pull_dependencies.pull_request_id')
            .where('depends_on_id', '=', pullId),
        ),
      ]),
    )
    .execute()
}

/**
 * Makes the merges due that were ordered by an account or, as given, with one token of theirs: that
 * may be no order any more.
 */
export async function wakeAutoMergesBy(
  tx: Tx,
  now: number,
  by: Partial<Pick<AutoMerge, 'scheduler_id' | 'token_uuid'>>,
): Promise<void> {
  await tx
    .updateTable('auto_merges')
    .set(dueFrom(now))
    .where((eb) => eb.and(by))
    .execute()
}

/** Makes every merge due: nobody knows what it has missed. */
export async function wakeAllAutoMerges(tx: Tx, now: number): Promise<void> {
  await tx.updateTable('auto_merges').set(dueFrom(now)).execute()
}

/**
 * Says when to look at a merge again, unless it was made due since it was read, or is another one
 * by now.
 *
 * @param read as it was.
 * @param dueTime Unix milliseconds: when to look if nothing happens before.
 */
export async function restAutoMerge(tx: Tx, read: AutoMerge, dueTime: number): Promise<void> {
  await tx
    .updateTable('auto_merges')
    .set({ due_time: dueTime })
    .where('pull_request_id', '=', read.pull_request_id)
    .where('wake_count', '=', read.wake_count)
    .where('create_time', '=', read.create_time)
    .execute()
}

/** Merges as they fall due, by their pull requests, and by whom they are made for. */
export function autoMergeQueue(db: Db): DueQueue {
  const merges = db
    .selectFrom('auto_merges')
    .select(['pull_request_id as id', 'scheduler_id as ownerId', 'due_time as dueTime'])
  return dueQueue(db, merges)
}
