import { type ExpressionBuilder, sql } from 'kysely'
import type { Schema, Tx } from '../../../platform/database/schema.ts'
import type { PullRequest } from '../schema.ts'

/** Changes of pull requests whose branches move or are deleted. */

type Pulls = ExpressionBuilder<Schema, 'issues'>

/**
 * Records the new tip of a branch. @returns the open pull requests with this head, after the
 * change.
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
 * Records the new name of a branch.
 *
 * @returns the open pull requests with this head after the change, except those that conflict with
 *   another one under the new name.
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
            .selectFrom('issues as other')
            .select('other.id')
            .whereRef('other.head_repository_id', '=', 'issues.head_repository_id')
            .where('other.head_branch', '=', name)
            .whereRef('other.repository_id', '=', 'issues.repository_id')
            .whereRef('other.base_branch', '=', 'issues.base_branch')
            .where('other.state', '=', sql.lit('OPEN' as const)),
        ),
      ),
    )
    .returningAll()
    .execute()
}

/** Closes the open pull requests with a head branch. @param now Unix seconds. */
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
 * Retargets the open pull requests into a branch to another branch of the repository.
 *
 * @throws a unique violation unless the conflicting ones were closed before.
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
 * Closes the open pull requests into a branch that could not have another base: their head is that
 * branch, or another open pull request has the same head and base.
 *
 * @param to the other base. Undefined if there is none, which closes all.
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
    eb('issues.head_repository_id', '=', ref('issues.repository_id')),
    eb('issues.head_branch', '=', branch),
  ])
}

function isAskedFor(eb: Pulls, branch: string) {
  return eb.exists(
    eb
      .selectFrom('issues as other')
      .select('other.id')
      .whereRef('other.head_repository_id', '=', 'issues.head_repository_id')
      .whereRef('other.head_branch', '=', 'issues.head_branch')
      .whereRef('other.repository_id', '=', 'issues.repository_id')
      .where('other.base_branch', '=', branch)
      .where('other.state', '=', sql.lit('OPEN' as const)),
  )
}

function openOfHead(tx: Tx, repositoryId: number, branch: string) {
  return tx
    .updateTable('issues')
    .where('head_repository_id', '=', repositoryId)
    .where('head_branch', '=', branch)
    .where('state', '=', sql.lit('OPEN' as const))
}

function openOfBase(tx: Tx, repositoryId: number, branch: string) {
  return tx
    .updateTable('issues')
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('state', '=', sql.lit('OPEN' as const))
}
