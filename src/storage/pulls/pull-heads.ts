import { type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { prepareFirst, prepareQuery } from '../database/prepared.ts'
import type { PullRequest } from '../schema/pulls.ts'
import type { Db, Schema, Tx } from '../schema/schema.ts'

/** How open pull requests follow the branches that they are of and go to. */

type Pulls = ExpressionBuilder<Schema, 'pull_requests'>

/**
 * As the index of those is conditioned, which has few: with a sign before their columns other
 * conditions do not lead to indexes that have all.
 */
const isBehind = sql<SqlBool>`(head_ref_commit is null or head_ref_commit <> head_commit)`

const behindOfRepository = prepareQuery((db, repositoryId: number, limit: number) =>
  db
    .selectFrom('pull_requests')
    .selectAll()
    .where(isBehind)
    .where(sql`+repository_id`, '=', repositoryId)
    .orderBy('id')
    .limit(limit),
)

const openOfHeadElsewhere = prepareFirst((db, repositoryId: number) =>
  db
    .selectFrom('pull_requests')
    .select('id')
    .where('head_repository_id', '=', repositoryId)
    .where('repository_id', '<>', repositoryId)
    .where('state', '=', sql.lit('OPEN' as const))
    .limit(1),
)

const latestOpen = prepareFirst(
  (db, repositoryId: number, headRepositoryId: number, branch: string) =>
    db
      .selectFrom('pull_requests')
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
    .selectFrom('pull_requests')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('state', '=', sql.lit('OPEN' as const))
    .limit(1),
)

/** Of some branches those that open pull requests are of. */
export async function openHeadBranches(
  db: Db,
  repositoryId: number,
  branches: readonly string[],
): Promise<string[]> {
  if (branches.length === 0) return []
  const rows = await db
    .selectFrom('pull_requests')
    .select('head_branch')
    .distinct()
    .where('head_repository_id', '=', repositoryId)
    .where('head_branch', 'in', branches)
    .where('state', '=', sql.lit('OPEN' as const))
    .execute()
  return rows.map(({ head_branch }) => head_branch)
}

/** Of some branches those that open pull requests go to. */
export async function openBaseBranches(
  db: Db,
  repositoryId: number,
  branches: readonly string[],
): Promise<string[]> {
  if (branches.length === 0) return []
  const rows = await db
    .selectFrom('pull_requests')
    .select('base_branch')
    .distinct()
    .where('repository_id', '=', repositoryId)
    .where('base_branch', 'in', branches)
    .where('state', '=', sql.lit('OPEN' as const))
    .execute()
  return rows.map(({ base_branch }) => base_branch)
}

/** The open pull requests that go to a branch, with the commits that they are at. */
export function listOpenHeads(
  db: Db,
  repositoryId: number,
  branch: string,
): Promise<Pick<PullRequest, 'id' | 'head_commit'>[]> {
  return db
    .selectFrom('pull_requests')
    .select(['id', 'head_commit'])
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('state', '=', sql.lit('OPEN' as const))
    .orderBy('id')
    .execute()
}

/**
 * The latest pull requests that go to a branch and are not merged, with the commits that they are
 * at.
 */
export function listUnmergedInto(
  db: Db,
  repositoryId: number,
  branch: string,
  limit: number,
): Promise<Pick<PullRequest, 'id' | 'head_commit'>[]> {
  return db
    .selectFrom('pull_requests')
    .select(['id', 'head_commit'])
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('state', 'in', [sql.lit('OPEN' as const), sql.lit('CLOSED' as const)])
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/**
 * Ids of the latest open pull requests that go to a branch and that somebody has approved, or not.
 */
export async function listReviewedInto(
  db: Db,
  repositoryId: number,
  branch: string,
  limit: number,
): Promise<number[]> {
  const pulls = await db
    .selectFrom('pull_requests')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('state', '=', sql.lit('OPEN' as const))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('reviews')
          .select('reviews.id')
          .whereRef('reviews.pull_request_id', '=', 'pull_requests.id')
          .where('reviews.state', 'in', ['APPROVED', 'REQUEST_CHANGES']),
      ),
    )
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return pulls.map(({ id }) => id)
}

/**
 * Keeps where the head of a closed pull request left its base, unless it has another head by now.
 */
export async function putMergeBase(
  tx: Tx,
  id: number,
  head: string,
  mergeBase: string,
): Promise<void> {
  await tx
    .updateTable('pull_requests')
    .set({ merge_base: mergeBase })
    .where('id', '=', id)
    .where('state', '=', 'CLOSED')
    .where('head_commit', '=', head)
    .execute()
}

/**
 * The branch of the same repository to which a branch was last merged as it is; undefined when it
 * was to none.
 */
export async function findMergedInto(
  db: Db,
  repositoryId: number,
  branch: string,
  commitId: string,
): Promise<string | undefined> {
  const merged = await db
    .selectFrom('pull_requests')
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

/** Whether an open pull request goes to a branch. */
export async function isBaseOfOpenPull(
  db: Db,
  repositoryId: number,
  branch: string,
): Promise<boolean> {
  return (await openIntoBranch(db, repositoryId, branch)) !== undefined
}

/** Whether open pull requests of other repositories are of branches of this one. */
export async function isHeadOfPullsElsewhere(db: Db, repositoryId: number): Promise<boolean> {
  return (await openOfHeadElsewhere(db, repositoryId)) !== undefined
}

/**
 * Says that a branch has moved. @returns the open pull requests that are of it, as they are now.
 */
export function moveHeads(
  tx: Tx,
  repositoryId: number,
  branch: string,
  commitId: string,
): Promise<PullRequest[]> {
  return openOfHead(tx, repositoryId, branch)
    .set({ head_commit: commitId })
    .where('head_commit', '<>', commitId)
    .returningAll()
    .execute()
}

/**
 * Says that a branch has another name.
 *
 * @returns the open pull requests that are of it, as they are now, but for those of which there is
 *   another one by the new name.
 */
export function renameHeads(
  tx: Tx,
  repositoryId: number,
  branch: string,
  name: string,
): Promise<PullRequest[]> {
  return openOfHead(tx, repositoryId, branch)
    .set({ head_branch: name })
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('pull_requests as other')
            .select('other.id')
            .whereRef('other.head_repository_id', '=', 'pull_requests.head_repository_id')
            .where('other.head_branch', '=', name)
            .whereRef('other.repository_id', '=', 'pull_requests.repository_id')
            .whereRef('other.base_branch', '=', 'pull_requests.base_branch')
            .where('other.state', '=', sql.lit('OPEN' as const)),
        ),
      ),
    )
    .returningAll()
    .execute()
}

/** Closes the open pull requests that are of a branch. @param now Unix seconds. */
export function closeHeads(
  tx: Tx,
  repositoryId: number,
  branch: string,
  now: number,
): Promise<PullRequest[]> {
  return openOfHead(tx, repositoryId, branch)
    .set({ state: 'CLOSED', close_time: now })
    .returningAll()
    .execute()
}

/**
 * Lets the open pull requests that go to a branch go to another one of the repository.
 *
 * @throws a unique violation unless those that cannot are closed.
 */
export function moveBases(
  tx: Tx,
  repositoryId: number,
  branch: string,
  to: string,
): Promise<PullRequest[]> {
  return openOfBase(tx, repositoryId, branch).set({ base_branch: to }).returningAll().execute()
}

/**
 * Closes the open pull requests that go to a branch and could not go to another one: they are of
 * that, or others ask for the same.
 *
 * @param to undefined when there is no other one, which closes all.
 * @param now Unix seconds.
 */
export function closeBases(
  tx: Tx,
  repositoryId: number,
  branch: string,
  to: string | undefined,
  now: number,
): Promise<PullRequest[]> {
  return openOfBase(tx, repositoryId, branch)
    .set({ state: 'CLOSED', close_time: now })
    .$if(to !== undefined, (query) =>
      query.where((eb) => eb.or([isOf(eb, to ?? ''), isAskedFor(eb, to ?? '')])),
    )
    .returningAll()
    .execute()
}

function isOf(eb: Pulls, branch: string) {
  const { ref } = eb
  return eb.and([
    eb('pull_requests.head_repository_id', '=', ref('pull_requests.repository_id')),
    eb('pull_requests.head_branch', '=', branch),
  ])
}

function isAskedFor(eb: Pulls, branch: string) {
  return eb.exists(
    eb
      .selectFrom('pull_requests as other')
      .select('other.id')
      .whereRef('other.head_repository_id', '=', 'pull_requests.head_repository_id')
      .whereRef('other.head_branch', '=', 'pull_requests.head_branch')
      .whereRef('other.repository_id', '=', 'pull_requests.repository_id')
      .where('other.base_branch', '=', branch)
      .where('other.state', '=', sql.lit('OPEN' as const)),
  )
}

function openOfHead(tx: Tx, repositoryId: number, branch: string) {
  return tx
    .updateTable('pull_requests')
    .where('head_repository_id', '=', repositoryId)
    .where('head_branch', '=', branch)
    .where('state', '=', sql.lit('OPEN' as const))
}

function openOfBase(tx: Tx, repositoryId: number, branch: string) {
  return tx
    .updateTable('pull_requests')
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('state', '=', sql.lit('OPEN' as const))
}

/**
 * Says what the ref of a pull request holds, which Git has been asked for; null where it has none.
 */
export async function putHeadRef(tx: Tx, id: number, commitId: string | null): Promise<void> {
  await tx
    .updateTable('pull_requests')
    .set({ head_ref_commit: commitId })
    .where('id', '=', id)
    .execute()
}

/** What a repository says of the refs of its pull requests, by their numbers. */
export function listHeadRefs(db: Db, repositoryId: number): Promise<HeadRef[]> {
  return db
    .selectFrom('pull_requests')
    .select(['id', 'number', 'head_commit', 'head_ref_commit'])
    .where('repository_id', '=', repositoryId)
    .orderBy('number')
    .execute()
}

export type HeadRef = Pick<PullRequest, 'id' | 'number' | 'head_commit' | 'head_ref_commit'>

/** The pull requests into a repository whose refs are behind their rows, oldest first. */
export function pullsBehind(db: Db, repositoryId: number, limit: number): Promise<PullRequest[]> {
  return behindOfRepository(db, repositoryId, limit)
}

/**
 * The open pull requests of branches of a repository whose refs, in other repositories, are behind
 * their rows.
 */
export function pullsBehindHead(db: Db, repositoryId: number): Promise<PullRequest[]> {
  return db
    .selectFrom('pull_requests')
    .selectAll()
    .where(isBehind)
    .where(sql`+head_repository_id`, '=', repositoryId)
    .where('repository_id', '<>', repositoryId)
    .orderBy('id')
    .execute()
}

/** The oldest pull request whose ref is behind its row, but for some. */
export async function nextPullBehind(
  db: Db,
  except: readonly number[],
): Promise<{ id: number; ownerId: number } | undefined> {
  return (
    db
      .selectFrom('pull_requests')
      .select(['id', 'repository_id as ownerId'])
      .where(isBehind)
      // As one value: there may be more of them than a statement has places for.
      .where('id', 'not in', (eb) =>
        eb
          .selectFrom(sql<{ value: number }>`json_each(${JSON.stringify(except)})`.as('skipped'))
          .select('value'),
      )
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
  )
}

/** The latest open pull request into a repository that is of a branch. */
export function latestOpenPull(
  db: Db,
  repositoryId: number,
  headRepositoryId: number,
  branch: string,
): Promise<Pick<PullRequest, 'number'> | undefined> {
  return latestOpen(db, repositoryId, headRepositoryId, branch)
}

/** A pull request as far as it tells who may push to where it is from. */
export type MaintainedHead = Pick<
  PullRequest,
  'repository_id' | 'base_branch' | 'head_branch' | 'poster_id'
>

/**
 * The open pull requests into other repositories whose posters let those who maintain these push to
 * the branch, too.
 */
export function maintainedHeads(
  db: Db,
  repositoryId: number,
  branches: readonly string[] | undefined,
  limit: number,
): Promise<MaintainedHead[]> {
  return db
    .selectFrom('pull_requests')
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
