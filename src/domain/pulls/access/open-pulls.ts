import { findPullRequest, findPullRequestById } from '../../../storage/pulls/pull-requests.ts'
import { findRepositoryById } from '../../../storage/repos/repositories.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { PullName, RepositoryName } from '../../core/names.ts'
import {
  checkNotArchived,
  type OpenRepository,
  openRepositories,
  openRepository,
} from '../../repos/access/permissions.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { reconcileRefs } from '../../repos/refs/ref-index.ts'
/**
 * A pull request that a caller may read. Its repository is that of the base, `access` the level of
 * the pull requests there.
 */
export interface OpenPull extends OpenRepository {
  readonly pull: PullRequest
}

/**
 * What a call takes of its caller: to read pull requests; the same where something is said about
 * one, in a repository that is not archived; to have opened it, or to be one who may write to pull
 * requests; to be such a one.
 */
export type PullNeed = 'read' | 'take part' | 'poster or write' | 'write'

/**
 * A repository whose pull requests a caller may read.
 *
 * @throws REPOSITORY_NOT_FOUND when there is none; REPOSITORY_MOVED; REPOSITORY_UNIT_CLOSED when
 *   the caller may not read its code, which pull requests are made of.
 */
export async function openPulls(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<OpenRepository> {
  const open = await openRepository(app, caller, name, 'read', 'pulls')
  if (!suffices(open.units.code, 'read'))
    throw new DomainError('REPOSITORY_UNIT_CLOSED', { unit: 'code' })
  // Among what was left may be a merge.
  await reconcileRefs(app, open.repository.id)
  return open
}

/**
 * The pull request that a caller names. The one way to it.
 *
 * @param number within its repository; any other number is that of none.
 * @throws as `openPulls`; PULL_REQUEST_NOT_FOUND; PULL_REQUEST_EDIT_DENIED or
 *   REPOSITORY_ACCESS_DENIED when the caller may read it and no more; REPOSITORY_ARCHIVED when more
 *   than reading is needed.
 */
export async function openPull(
  app: ReposApp,
  caller: Caller,
  name: PullName,
  needed: PullNeed,
): Promise<OpenPull> {
  const open = await openPulls(app, caller, name)
  const pull = await findPullRequest(app.db, open.repository.id, name.number)
  if (!pull) throw new DomainError('PULL_REQUEST_NOT_FOUND')
  checkNeed(caller, open, pull, needed)
  return { ...open, pull }
}

/** The pull request with an id, if a caller may read it. */
export async function findReadablePull(
  app: ReposApp,
  caller: Caller,
  id: number,
): Promise<OpenPull | undefined> {
  const pull = await findPullRequestById(app.db, id)
  const repository = pull && (await findRepositoryById(app.db, pull.repository_id))
  const [open] = repository ? await openRepositories(app, caller, [repository], 'pulls') : []
  if (!pull || !open) return undefined
  return suffices(open.units.pulls, 'read') && suffices(open.units.code, 'read')
    ? { ...open, pull }
    : undefined
}

function checkNeed(
  caller: Caller,
  { repository, access }: OpenRepository,
  pull: PullRequest,
  needed: PullNeed,
): void {
  if (needed === 'read') return
  const writes = suffices(access, 'write')
  if (needed === 'write' && !writes) throw new DomainError('REPOSITORY_ACCESS_DENIED', { needed })
  if (needed === 'poster or write' && !writes && !isPoster(caller, pull))
    throw new DomainError('PULL_REQUEST_EDIT_DENIED')
  checkNotArchived(repository)
}

/** Whether a caller has opened a pull request. */
export function isPoster(caller: Caller, { poster_id }: Pick<PullRequest, 'poster_id'>): boolean {
  return caller.kind === 'user' && caller.user.id === poster_id
}
