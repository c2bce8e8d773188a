import { type SqlBool, sql } from 'kysely'
import { numbersOf, prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { PullRequest } from '../schema.ts'

/** The heads and bases of open pull requests, as their branches move. */

/**
 * Has the form of the condition of the partial index, and leaves out issues, which have no head. The
 * sign before other columns keeps SQLite from using larger indexes.
 */
const isBehind = sql<SqlBool>`(head_ref_commit is null or head_ref_commit <> head_commit)
  and is_pull = 1`

/** Lists the pull requests of a repository whose refs differ from their rows, oldest first. */
export const pullsBehind = prepareQuery((db, repositoryId: number, limit: number) =>
  db
    .selectFrom('issues')
    .selectAll()
    .where(isBehind)
    .where(sql`+repository_id`, '=', repositoryId)
    .orderBy('id')
    .limit(limit),
)

const openOfHeadElsewhere = prepareFirst((db, repositoryId: number) =>
  db
    .selectFrom('issues')
    .select('id')
    .where('head_repository_id', '=', repositoryId)
    .where('repository_id', '<>', repositoryId)
    .where('state', '=', sql.lit('OPEN' as const))
    .limit(1),
)

/** Returns the latest open pull request of a head branch in a base repository. */
export const latestOpenPull = prepareFirst(
  (db, repositoryId: number, headRepositoryId: number, branch: string) =>
    db
      .selectFrom('issues')
      .select('number')
      .where('repository_id', '=', repositoryId)
      .where('head_repository_id', '=', headRepositoryId)
      .where('head_branch', '=', branch)
      .where('state', '=', sql.lit('OPEN' as const))
      .orderBy('number', 'desc')
      .limit(1),
)

const openIntoBranch = prepareFirst((db, repositoryId: number, branch: string) =>
  db
    .selectFrom('issues')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('state', '=', sql.lit('OPEN' as const))
    .limit(1),
)

/** Returns which of some branches are heads of open pull requests. */
export async function openHeadBranches(
  db: Db,
  repositoryId: number,
  branches: readonly string[],
): Promise<string[]> {
  if (branches.length === 0) return []
  const rows = await db
    .selectFrom('issues')
    .select('head_branch')
    .distinct()
    .where('head_repository_id', '=', repositoryId)
    .where('head_branch', 'in', branches)
    .where('state', '=', sql.lit('OPEN' as const))
    .execute()
  return rows.map(({ head_branch }) => head_branch)
}

/** Returns which of some branches are bases of open pull requests. */
export async function openBaseBranches(
  db: Db,
  repositoryId: number,
  branches: readonly string[],
): Promise<string[]> {
  if (branches.length === 0) return []
  const rows = await db
    .selectFrom('issues')
    .select('base_branch')
    .distinct()
    .where('repository_id', '=', repositoryId)
    .where('base_branch', 'in', branches)
    .where('state', '=', sql.lit('OPEN' as const))
    .execute()
  return rows.map(({ base_branch }) => base_branch)
}

/** Lists the open pull requests into a branch, with their commits. */
export function listOpenHeads(
  db: Db,
  repositoryId: number,
  branch: string,
): Promise<Pick<PullRequest, 'id' | 'head_commit'>[]> {
  return db
    .selectFrom('issues')
    .select(['id', 'head_commit'])
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('state', '=', sql.lit('OPEN' as const))
    .orderBy('id')
    .execute()
}

/** Lists the latest unmerged pull requests into a branch, with their commits. */
export function listUnmergedInto(
  db: Db,
  repositoryId: number,
  branch: string,
  limit: number,
): Promise<Pick<PullRequest, 'id' | 'head_commit'>[]> {
  return db
    .selectFrom('issues')
    .select(['id', 'head_commit'])
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('state', 'in', [sql.lit('OPEN' as const), sql.lit('CLOSED' as const)])
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Returns the ids of the latest open pull requests into a branch with, or without, approvals. */
export async function listReviewedInto(
  db: Db,
  repositoryId: number,
  branch: string,
  limit: number,
): Promise<number[]> {
  const pulls = await db
    .selectFrom('issues')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('state', '=', sql.lit('OPEN' as const))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('reviews')
          .select('reviews.id')
          .whereRef('reviews.pull_request_id', '=', 'issues.id')
          .where('reviews.state', 'in', ['APPROVED', 'REQUEST_CHANGES']),
      ),
    )
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return pulls.map(({ id }) => id)
}

/**
 * Stores the merge base of the head of a closed pull request, unless its head has changed since.
 */
export async function putMergeBase(
  tx: Tx,
  id: number,
  head: string,
  mergeBase: string,
): Promise<void> {
  await tx
    .updateTable('issues')
    .set({ merge_base: mergeBase })
    .where('id', '=', id)
    .where('state', '=', 'CLOSED')
    .where('head_commit', '=', head)
    .execute()
}

/**
 * Returns the branch of the same repository into which the present tip of a branch was last merged.
 * Undefined without one.
 */
export async function findMergedInto(
  db: Db,
  repositoryId: number,
  branch: string,
  commitId: string,
): Promise<string | undefined> {
  const merged = await db
    .selectFrom('issues')
    .select('base_branch')
    .where('head_repository_id', '=', repositoryId)
    .where('head_branch', '=', branch)
    .where('repository_id', '=', repositoryId)
    .where('head_commit', '=', commitId)
    .where('state', '=', sql.lit('MERGED' as const))
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return merged?.base_branch
}

/** Returns whether a branch is the base of an open pull request. */
export async function isBaseOfOpenPull(
  db: Db,
  repositoryId: number,
  branch: string,
): Promise<boolean> {
  return (await openIntoBranch(db, repositoryId, branch)) !== undefined
}

/**
 * Returns whether branches of a repository are heads of open pull requests in other repositories.
 */
export async function isHeadOfPullsElsewhere(db: Db, repositoryId: number): Promise<boolean> {
  return (await openOfHeadElsewhere(db, repositoryId)) !== undefined
}

/**
 * Records the commit of the ref of a pull request, as Git has reported it. Null if the ref does not
 * exist.
 */
export async function putHeadRef(tx: Tx, id: number, commitId: string | null): Promise<void> {
  await tx.updateTable('issues').set({ head_ref_commit: commitId }).where('id', '=', id).execute()
}

/** Lists the recorded refs of the pull requests of a repository, by their numbers. */
export function listHeadRefs(db: Db, repositoryId: number): Promise<HeadRef[]> {
  return db
    .selectFrom('issues')
    .select(['id', 'number', 'head_commit', 'head_ref_commit'])
    .where('repository_id', '=', repositoryId)
    .where('is_pull', '=', 1)
    .orderBy('number')
    .execute()
}

export type HeadRef = Pick<PullRequest, 'id' | 'number' | 'head_commit' | 'head_ref_commit'>

/**
 * Lists the open pull requests with heads in a repository whose refs, in other repositories, differ
 * from their rows.
 */
export function pullsBehindHead(db: Db, repositoryId: number): Promise<PullRequest[]> {
  return db
    .selectFrom('issues')
    .selectAll()
    .where(isBehind)
    .where(sql`+head_repository_id`, '=', repositoryId)
    .where('repository_id', '<>', repositoryId)
    .orderBy('id')
    .execute()
}

/** Returns the oldest pull request whose ref differs from its row, except some. */
export async function nextPullBehind(
  db: Db,
  except: readonly number[],
): Promise<{ id: number; ownerId: number } | undefined> {
  return (
    db
      .selectFrom('issues')
      .select(['id', 'repository_id as ownerId'])
      .where(isBehind)
      // One value, because a statement has a limited number of parameters.
      .where('id', 'not in', numbersOf(JSON.stringify(except)))
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
  )
}

/** The columns of a pull request that decide who may push to its head. */
export type MaintainedHead = Pick<
  PullRequest,
  'repository_id' | 'base_branch' | 'head_branch' | 'poster_id'
>

/**
 * Lists the open pull requests in other repositories that allow edits of their head branches by
 * maintainers.
 */
export function maintainedHeads(
  db: Db,
  repositoryId: number,
  branches: readonly string[] | undefined,
  limit: number,
): Promise<MaintainedHead[]> {
  return db
    .selectFrom('issues')
    .select(['repository_id', 'base_branch', 'head_branch', 'poster_id'])
    .distinct()
    .where('head_repository_id', '=', repositoryId)
    .$if(branches !== undefined, (query) => query.where('head_branch', 'in', branches ?? []))
    .whereRef('repository_id', '<>', 'head_repository_id')
    .where('state', '=', sql.lit('OPEN' as const))
    .where('allow_maintainer_edit', '=', 1)
    .limit(limit)
    .execute()
}
