import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { ConversationRight } from '../../conversations/ports.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { ConversationName, RepositoryName } from '../../core/names.ts'
import {
  checkNotArchived,
  type OpenRepository,
  openRepositories,
  openRepository,
} from '../../repositories/access/permissions.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { reconcileRefs } from '../../repositories/refs/ref-index.ts'
import type { PullRequest } from '../schema.ts'
import { findPullRequest, findPullRequestById } from './pull-requests.rows.ts'

/**
 * A pull request that the caller may read. `repository` is the base repository, and `access` the
 * permission level of the caller for its pull requests.
 */
export interface OpenPull extends OpenRepository {
  readonly pull: PullRequest
}

/**
 * Opens a repository whose pull requests the caller may read.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED; REPOSITORY_UNIT_CLOSED if the caller may not read
 *   the code, which pull requests consist of.
 */
export async function openPulls(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<OpenRepository> {
  const open = await openForPulls(app, caller, name)
  // A pending update may be a merge that Git has made and that is not recorded yet.
  await reconcileRefs(app, open.repository.id)
  return open
}

async function openForPulls(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<OpenRepository> {
  const open = await openRepository(app, caller, name, 'read', 'pulls')
  if (!suffices(open.units.code, 'read'))
    throw new DomainError('REPOSITORY_UNIT_CLOSED', { unit: 'code' })
  return open
}

/**
 * Opens the pull request that a request names.
 *
 * @throws as `openPulls`; PULL_REQUEST_NOT_FOUND; PULL_REQUEST_EDIT_DENIED or
 *   REPOSITORY_ACCESS_DENIED if the caller may read the pull request but lacks the access that is
 *   needed; REPOSITORY_ARCHIVED if more than reading is needed.
 */
export async function openPull(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  needed: ConversationRight,
): Promise<OpenPull> {
  return openPullWithin(app, caller, await openForPulls(app, caller, name), name.number, needed)
}

/**
 * Opens a pull request of a repository that is open already, and whose pull requests the caller may
 * read.
 *
 * @throws PULL_REQUEST_NOT_FOUND; as `openPull` if the caller lacks the access that is needed.
 */
export async function openPullWithin(
  app: ReposApp,
  caller: Caller,
  repository: OpenRepository,
  number: number,
  needed: ConversationRight,
): Promise<OpenPull> {
  const open = { ...repository, access: repository.units.pulls }
  await reconcileRefs(app, open.repository.id)
  const pull = await findPullRequest(app.db, open.repository.id, number)
  if (!pull) throw new DomainError('PULL_REQUEST_NOT_FOUND')
  checkNeed(caller, open, pull, needed)
  return { ...open, pull }
}

/**
 * Reads an open pull request again. Call it once a lock is held: the previous holder of the lock
 * may have changed the pull request.
 */
export async function reopenPull(app: ReposApp, open: OpenPull): Promise<OpenPull> {
  await reconcileRefs(app, open.repository.id)
  return { ...open, pull: await rereadPull(app.db, open.pull) }
}

/** Returns the current row of a pull request. */
export async function rereadPull(db: Db, { id }: Pick<PullRequest, 'id'>): Promise<PullRequest> {
  const pull = await findPullRequestById(db, id)
  if (!pull) throw new DomainError('PULL_REQUEST_NOT_FOUND')
  return pull
}

/**
 * Returns the current row of a pull request in the transaction of a change. The repository may have
 * been archived since the pull request was opened.
 */
export async function rereadForChange(
  tx: Tx,
  { repository, pull }: Pick<OpenPull, 'repository' | 'pull'>,
): Promise<PullRequest> {
  const present = await findRepositoryById(tx, repository.id)
  if (!present) throw new DomainError('PULL_REQUEST_NOT_FOUND')
  checkNotArchived(present)
  return rereadPull(tx, pull)
}

/** Returns the pull request with an id if the caller may read it. */
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
  { repository, access, units }: OpenRepository,
  pull: PullRequest,
  needed: ConversationRight,
): void {
  if (needed === 'read') return
  const writes = suffices(access, 'write')
  if ((needed === 'write' && !writes) || (needed === 'admin' && !suffices(units.code, 'admin')))
    throw new DomainError('REPOSITORY_ACCESS_DENIED', { needed })
  if (needed === 'poster or write' && !writes && !isPoster(caller, pull))
    throw new DomainError('PULL_REQUEST_EDIT_DENIED')
  checkNotArchived(repository)
}

/** Returns whether the caller has opened a pull request. */
export function isPoster(caller: Caller, { poster_id }: Pick<PullRequest, 'poster_id'>): boolean {
  return caller.kind === 'user' && caller.user.id === poster_id
}
