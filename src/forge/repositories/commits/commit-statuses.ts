import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import type { Page } from '../../core/names.ts'
import { findCommitId, notFound } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import type { CommitStatus, Repository } from '../schema.ts'
import type { CommitKey } from './commit-statuses.rows.ts'
import * as rows from './commit-statuses.rows.ts'

/** The states that a status may have. */
export const STATUS_STATES: readonly CommitStatus['state'][] = [
  'pending',
  'success',
  'error',
  'failure',
  'warning',
  'skipped',
]

/**
 * The values of `sort` in compatible systems that list the oldest first. All others list the newest
 * first.
 */
const OLDEST_FIRST = ['oldest', 'leastupdate', 'leastindex']

/** A status, with its creator. */
export interface CommitStatusView extends CommitStatus {
  readonly creator: Owner
}

export interface StatusQuery {
  /**
   * `oldest`, `leastupdate` or `leastindex` list the oldest first, any other value the newest
   * first. Statuses never change, so all these keys are equivalent to the number.
   */
  readonly sort: string
  /** Filters by state. An unknown state does not filter. */
  readonly state: string
}

/** The combined status of a commit. */
export interface CombinedStatus {
  readonly commitId: string
  readonly state: 'pending' | 'success' | 'failure'
  /** Number of contexts. */
  readonly total: number
  /** A page of the latest status of each context, newest first. */
  readonly statuses: readonly CommitStatusView[]
}

/**
 * Returns a page of the statuses of a commit.
 *
 * @throws COMMIT_NOT_FOUND
 */
export async function listCommitStatuses(
  app: ReposApp,
  repository: Repository,
  ref: string,
  { sort, state }: StatusQuery,
  page: Page,
): Promise<{ statuses: readonly CommitStatusView[]; total: number }> {
  const commit = await commitOf(app, repository, ref)
  const wanted = STATUS_STATES.find((known) => known === state)
  const order = OLDEST_FIRST.includes(sort) ? 'oldest first' : 'newest first'
  const statuses = await rows.listCommitStatuses(
    app.db,
    commit,
    { state: wanted, order },
    page.offset,
    page.limit,
  )
  return {
    statuses: await withCreators(app, statuses),
    total: await rows.countCommitStatuses(app.db, commit, wanted),
  }
}

/**
 * Returns the combined status of a commit.
 *
 * @throws COMMIT_NOT_FOUND
 */
export async function getCombinedStatus(
  app: ReposApp,
  repository: Repository,
  ref: string,
  offset: number,
  limit: number,
): Promise<CombinedStatus> {
  const commit = await commitOf(app, repository, ref)
  const counts = await rows.countLatestStates(app.db, commit)
  const latest = await rows.listLatestCommitStatuses(app.db, commit, offset, limit)
  return {
    commitId: commit.commit_id,
    state: combineStatuses(new Set(counts.keys())),
    total: contextsIn(counts),
    statuses: await withCreators(app, latest),
  }
}

async function withCreators(
  app: ReposApp,
  statuses: readonly CommitStatus[],
): Promise<CommitStatusView[]> {
  const creators = await findOwnersByIds(app.db, [
    ...new Set(statuses.map(({ creator_id }) => creator_id)),
  ])
  return statuses.map((status) => ({
    ...status,
    creator: creators.get(status.creator_id) ?? GHOST,
  }))
}

/**
 * Combines the states of statuses: `failure` if one is not successful, else `pending` if one is
 * pending or there is none.
 */
export function combineStatuses(
  states: ReadonlySet<CommitStatus['state']>,
): CombinedStatus['state'] {
  if (states.has('error') || states.has('failure') || states.has('warning')) return 'failure'
  return states.has('pending') || states.size === 0 ? 'pending' : 'success'
}

/** Returns the number of contexts of all states. */
export function contextsIn(counts: ReadonlyMap<unknown, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}

/** @throws COMMIT_NOT_FOUND */
export async function commitOf(
  app: ReposApp,
  repository: Repository,
  ref: string,
): Promise<CommitKey> {
  const commitId = await findCommitId(app, repository, ref)
  if (commitId === undefined) throw notFound('COMMIT_NOT_FOUND', 'ref', ref)
  return { repository_id: repository.id, commit_id: commitId }
}
