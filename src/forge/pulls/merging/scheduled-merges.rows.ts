import { type ExpressionBuilder, type Insertable, sql } from 'kysely'
import { type DueQueue, dueQueue } from '../../../platform/database/due-queue.ts'
import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../../platform/database/schema.ts'
import { wakeQueues } from '../queue/merge-queue.rows.ts'
import type { PullRequest, ScheduledMerge, ScheduledMergesTable } from '../schema.ts'

/** Returns the scheduled merge of a pull request. Undefined without one. */
export function findScheduledMerge(db: Db, pullId: number): Promise<ScheduledMerge | undefined> {
  return db
    .selectFrom('auto_merges')
    .selectAll()
    .where('pull_request_id', '=', pullId)
    .executeTakeFirst()
}

/** Stores a scheduled merge. A second one for a pull request violates a PRIMARY KEY constraint. */
export async function insertScheduledMerge(
  tx: Tx,
  merge: Insertable<ScheduledMergesTable>,
): Promise<void> {
  await tx.insertInto('auto_merges').values(merge).execute()
}

/** Deletes the scheduled merge of a pull request. @returns whether there was one. */
export async function deleteScheduledMerge(tx: Tx, pullId: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('auto_merges')
    .where('pull_request_id', '=', pullId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Returns the scheduled merges of pull requests, by the id of the pull request. */
export async function findScheduledMerges(
  db: Db,
  pullIds: readonly number[],
): Promise<ReadonlyMap<number, ScheduledMerge>> {
  if (pullIds.length === 0) return new Map()
  const merges = await mergesOfPulls(db, JSON.stringify(pullIds))
  return new Map(merges.map((merge) => [merge.pull_request_id, merge]))
}

const mergesOfPulls = prepareQuery((db, pullIds: string) =>
  db.selectFrom('auto_merges').selectAll().where('pull_request_id', 'in', numbersOf(pullIds)),
)

/**
 * Deletes the scheduled merges of open pull requests into a branch. @returns the ids of the pull
 * requests.
 */
export async function deleteScheduledMergesInto(
  tx: Tx,
  repositoryId: number,
  branch: string,
): Promise<number[]> {
  const deleted = await tx
    .deleteFrom('auto_merges')
    .where('pull_request_id', 'in', (eb) =>
      eb
        .selectFrom('issues')
        .select('id')
        .where('repository_id', '=', repositoryId)
        .where('base_branch', '=', branch)
        .where('state', '=', sql.lit('OPEN' as const)),
    )
    .returning('pull_request_id')
    .execute()
  return deleted.map(({ pull_request_id }) => pull_request_id)
}

/**
 * Returns a change that makes a scheduled merge due. One that is due keeps its position in the
 * queue.
 */
function dueFrom(now: number) {
  return (eb: ExpressionBuilder<Schema, 'auto_merges'>) => ({
    // A parameter, because each literal time would be another statement to prepare.
    due_time: eb.case().when('due_time', '>', now).then(eb.val(now)).else(eb.ref('due_time')).end(),
    wake_count: eb('wake_count', '+', 1),
  })
}

/**
 * Makes scheduled merges of a repository due after a change that they may have waited for, and its
 * merge queues.
 *
 * @param now Unix milliseconds.
 * @param pulls selects pull requests that have these values. All when left out.
 */
export async function wakeScheduledMerges(
  tx: Tx,
  now: number,
  repositoryId: number,
  pulls: Partial<Pick<PullRequest, 'base_branch' | 'head_commit'>> = {},
): Promise<void> {
  await wakeQueues(tx, now, repositoryId, pulls)
  await tx
    .updateTable('auto_merges')
    .set(dueFrom(now))
    .where('repository_id', '=', repositoryId)
    .$if(Object.keys(pulls).length > 0, (query) =>
      query.where(({ exists, selectFrom }) =>
        exists(
          selectFrom('issues')
            .select('id')
            .whereRef('issues.id', '=', 'auto_merges.pull_request_id')
            .where((eb) => eb.and(pulls)),
        ),
      ),
    )
    .execute()
}

/**
 * Returns the scheduled merges into a branch that are due, in the order in which they were scheduled.
 */
export async function dueMergesInto(
  db: Db,
  now: number,
  repositoryId: number,
  branch: string,
): Promise<number[]> {
  const due = await db
    .selectFrom('auto_merges')
    .innerJoin('issues', 'issues.id', 'pull_request_id')
    .select('pull_request_id')
    .where('auto_merges.repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('auto_merges.due_time', '<=', now)
    .orderBy('create_time_ms')
    .orderBy('pull_request_id')
    .execute()
  return due.map(({ pull_request_id }) => pull_request_id)
}

/**
 * Makes the scheduled merge of a pull request due, and those of the pull requests that depend on
 * it.
 */
export async function wakeScheduledMerge(tx: Tx, now: number, pullId: number): Promise<void> {
  await tx
    .updateTable('auto_merges')
    .set(dueFrom(now))
    // With `or` instead of the union, PostgreSQL would read all scheduled merges.
    .where('pull_request_id', 'in', (eb) =>
      eb
        .selectFrom('issue_dependencies')
        .select('issue_dependencies.issue_id')
        .where('depends_on_id', '=', pullId)
        .unionAll(sql<{ issue_id: number }>`select cast(${pullId} as bigint)`),
    )
    .execute()
}

/**
 * Makes the merges due that an account has scheduled, optionally only those scheduled with one
 * token.
 */
export async function wakeScheduledMergesBy(
  tx: Tx,
  now: number,
  by: Partial<Pick<ScheduledMerge, 'scheduler_id' | 'token_uuid'>>,
): Promise<void> {
  await tx
    .updateTable('auto_merges')
    .set(dueFrom(now))
    .where((eb) => eb.and(by))
    .execute()
}

/** Makes every scheduled merge due. Changes may have been missed while the server was stopped. */
export async function wakeAllScheduledMerges(tx: Tx, now: number): Promise<void> {
  await tx.updateTable('auto_merges').set(dueFrom(now)).execute()
}

/**
 * Sets the time of the next attempt of a scheduled merge, unless the merge was replaced or made due
 * since it was read.
 *
 * @param read the row as it was read.
 * @param dueTime Unix milliseconds. The time of the next attempt without an event before.
 */
export async function restScheduledMerge(
  tx: Tx,
  read: ScheduledMerge,
  dueTime: number,
): Promise<void> {
  await tx
    .updateTable('auto_merges')
    .set({ due_time: dueTime })
    .where('pull_request_id', '=', read.pull_request_id)
    .where('wake_count', '=', read.wake_count)
    .where('create_time', '=', read.create_time)
    .execute()
}

/**
 * Returns the queue of scheduled merges, by their pull requests and by the users who scheduled
 * them.
 */
export function scheduledMergeQueue(db: Db): DueQueue {
  const merges = db
    .selectFrom('auto_merges')
    .select(['pull_request_id as id', 'scheduler_id as ownerId', 'due_time as dueTime'])
  // The order of the index `auto_merges_due`.
  return dueQueue(db, merges, ['ownerId', 'id'])
}
