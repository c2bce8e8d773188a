import { sql } from 'kysely'
import { numbersOf, prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { takeNumber } from '../../conversations/conversations.rows.ts'
import { wakeScheduledMerge } from '../merging/scheduled-merges.rows.ts'
import type { Mergeability, NewPullRequest, PullRequest, PullRequestChanges } from '../schema.ts'

/** Returns the pull request of a repository with a number. */
export const findPullRequest = prepareFirst((db, repositoryId: number, number: number) =>
  db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('number', '=', number)
    .where('is_pull', '=', 1),
)

export const findPullRequestById = prepareFirst((db, id: number) =>
  db.selectFrom('issues').selectAll().where('id', '=', id).where('is_pull', '=', 1),
)

/** Returns the pull requests with some ids, by id. */
export async function findPullRequestsByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, PullRequest>> {
  if (ids.length === 0) return new Map()
  const found = await pullsByIds(db, JSON.stringify(ids))
  return new Map(found.map((pull) => [pull.id, pull]))
}

const pullsByIds = prepareQuery((db, ids: string) =>
  db.selectFrom('issues').selectAll().where('id', 'in', numbersOf(ids)).where('is_pull', '=', 1),
)

/** The head and the base of a pull request. */
type PullCoordinates = Pick<PullRequest, 'repository_id' | 'base_branch' | 'head_branch'> & {
  readonly head_repository_id: number
}

/** Returns the open pull request between two branches or, without one, the latest. */
export async function findPullRequestBetween(
  db: Db,
  coordinates: PullCoordinates,
): Promise<PullRequest | undefined> {
  const between = db
    .selectFrom('issues')
    .selectAll()
    .where('head_repository_id', '=', coordinates.head_repository_id)
    .where('head_branch', '=', coordinates.head_branch)
    .where('repository_id', '=', coordinates.repository_id)
    .where('base_branch', '=', coordinates.base_branch)
  // A literal, because it is the condition of the partial index.
  const open = await between.where(sql<boolean>`state = 'OPEN'`).executeTakeFirst()
  return open ?? between.orderBy('id', 'desc').limit(1).executeTakeFirst()
}

/** Returns the latest pull request whose merge created a commit. */
export function findPullRequestByMergeCommit(
  db: Db,
  repositoryId: number,
  commitId: string,
): Promise<PullRequest | undefined> {
  return db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('merge_commit', '=', commitId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/**
 * Stores a pull request under the next number of its repository.
 *
 * @param chosen a number in place of the next one.
 * @throws a unique violation if an open one has the same head and base; a foreign key violation if
 *   a repository was deleted.
 */
export async function insertPullRequest(
  tx: Tx,
  pull: NewPullRequest,
  chosen?: number,
): Promise<PullRequest> {
  const number = chosen ?? (await takeNumber(tx, pull.repository_id))
  return tx
    .insertInto('issues')
    .values({ ...pull, number })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/**
 * Updates an existing pull request. Changes that participants need to see also call `touchPull`.
 *
 * @throws a unique violation if an open one has the same head and base.
 */
export function updatePullRequest(
  tx: Tx,
  id: number,
  changes: PullRequestChanges,
): Promise<PullRequest> {
  return tx
    .updateTable('issues')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** The counts of a pull request and the commits between which they were counted. */
type PullCountColumns = Pick<
  PullRequest,
  'counted_base' | 'counted_head' | 'additions' | 'deletions' | 'changed_files'
>

/** Stores the counts of a pull request if it still exists. */
export async function storeCounts(db: Db, id: number, counts: PullCountColumns): Promise<void> {
  await db.updateTable('issues').set(counts).where('id', '=', id).execute()
}

/**
 * Records a change that participants need to see. An actor who had seen everything before still
 * has.
 *
 * @param now Unix seconds.
 * @param actorId undefined for a change without a known actor.
 */
export async function touchPull(tx: Tx, id: number, now: number, actorId?: number): Promise<void> {
  const touched = await tx
    .updateTable('issues')
    .set((eb) => ({ update_time: now, change_count: eb('change_count', '+', 1) }))
    .where('id', '=', id)
    .returning('change_count')
    .executeTakeFirst()
  if (!touched) return
  // A scheduled merge may have waited for the change.
  await wakeScheduledMerge(tx, now * 1000, id)
  if (actorId === undefined) return
  const seen = touched.change_count
  await tx
    .updateTable('issue_participants')
    .set({ seen })
    .where('issue_id', '=', id)
    .where('user_id', '=', actorId)
    .where('seen', '=', seen - 1)
    .execute()
}

/** The result of a mergeability check. */
export interface PullCheck {
  /** The checked commits. */
  readonly base: string
  readonly head: string
  readonly mergeability: Mergeability
  /** Empty if there is no merge base. */
  readonly mergeBase: string
}

/**
 * Stores the result of a check of an open pull request, unless its head has changed since.
 *
 * @returns whether the result is stored.
 */
export async function recordMergeability(
  tx: Tx,
  pullId: number,
  check: PullCheck,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('issues')
    .set({
      mergeability: check.mergeability,
      checked_base: check.base,
      checked_head: check.head,
      // The last one stays when the base was replaced by another history.
      ...(check.mergeBase !== '' && { merge_base: check.mergeBase }),
    })
    .where('id', '=', pullId)
    .where('state', '=', 'OPEN')
    .where('head_commit', '=', check.head)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
