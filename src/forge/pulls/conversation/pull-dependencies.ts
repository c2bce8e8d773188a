import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, PullName } from '../../core/names.ts'
import { openRepositories } from '../../repositories/access/permissions.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import { findRepositoriesByIds } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type OpenPull, openPull, rereadForChange, rereadPull } from '../heads/open-pulls.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { touchPull } from '../heads/pull-requests.rows.ts'
import { type PullView, viewPull, viewPullsOf } from '../lists/pull-views.ts'
import type { PullRequest } from '../schema.ts'
import * as rows from './pull-dependencies.rows.ts'

/**
 * Dependencies of pull requests on others, also of other repositories. A pull request with an open
 * dependency can be neither closed manually nor merged.
 */

/** Maximum number of dependencies of a pull request. */
const MAX_DEPENDENCIES = 100

/**
 * A dependency in the form in which a client names it. Without owner and repository it is in the
 * same repository.
 */
export interface DependencyReference {
  readonly owner: string
  readonly repo: string
  readonly number: number
}

/** A page of dependencies. Undefined for one that the caller may not read. */
interface DependencyPage {
  readonly pulls: readonly (PullView | undefined)[]
  readonly total: number
}

/**
 * Lists the dependencies of a pull request: those of its repository first, by number.
 *
 * @throws the errors of `openPull`.
 */
export async function listDependencies(
  app: ReposApp,
  caller: Caller,
  name: PullName,
  page: Page,
): Promise<DependencyPage> {
  const { pull } = await openPull(app, caller, name, 'read')
  const pulls = await rows.listDependencies(app.db, pull, page.offset, page.limit)
  const ids = new Set(pulls.map(({ repository_id }) => repository_id))
  const repositories = await findRepositoriesByIds(app.db, [...ids])
  const opened = await openRepositories(app, caller, [...repositories.values()], 'pulls')
  const readable = new Set(opened.map(({ repository }) => repository.id))
  const shown = pulls.filter(({ repository_id }) => readable.has(repository_id))
  const views = await viewPullsOf(app, caller, opened, shown)
  const viewOf = new Map(views.map((view) => [view.pull.id, view]))
  return {
    pulls: pulls.map(({ id }) => viewOf.get(id)),
    total: await rows.countDependencies(app.db, pull.id),
  }
}

/**
 * Makes a pull request depend on another one. Has no effect if it does already.
 *
 * @returns the dependent pull request.
 * @throws the errors of `openPull` for 'write'; PULL_REQUEST_NOT_FOUND when the dependency does not
 *   exist; INVALID_DEPENDENCY
 */
export async function addDependency(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  reference: DependencyReference,
): Promise<PullView> {
  return change(app, caller, name, reference, async (tx, { id }, other) => {
    if (other.id === id || (await rows.dependsOn(tx, other.id, id)))
      throw new DomainError('INVALID_DEPENDENCY')
    if (await rows.dependsOn(tx, id, other.id)) return false
    if ((await rows.countDependencies(tx, id)) >= MAX_DEPENDENCIES)
      throw new DomainError('INVALID_DEPENDENCY')
    await rows.insertDependency(tx, id, other.id)
    return true
  })
}

/**
 * Removes a dependency of a pull request, if there is one.
 *
 * @returns the pull request that was dependent.
 * @throws the errors of `openPull` for 'write'; PULL_REQUEST_NOT_FOUND when the dependency does not
 *   exist.
 */
export async function removeDependency(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  reference: DependencyReference,
): Promise<PullView> {
  return change(app, caller, name, reference, async (tx, { id }, other) => {
    if (!(await rows.dependsOn(tx, id, other.id))) return false
    await rows.deleteDependency(tx, id, other.id)
    return true
  })
}

/** @param work returns whether it changed anything. */
async function change(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  reference: DependencyReference,
  work: (tx: Tx, pull: PullRequest, other: PullRequest) => Promise<boolean>,
): Promise<PullView> {
  const { pull: seen, ...open } = await openPull(app, caller, name, 'write')
  const otherId = await findOther(app, caller, open, reference)
  const changed = await changeWatched(app, async (tx) => {
    const pull = await rereadForChange(tx, { ...open, pull: seen })
    const other = await rereadPull(tx, { id: otherId })
    if (!(await work(tx, pull, other))) return pull
    await touchPull(tx, pull.id, nowSeconds(app.clock), caller.user.id)
    await recordPullChange(app, tx, caller.user.id, pull, 'PULL_REQUEST_EDITED')
    return rereadPull(tx, pull)
  })
  return viewPull(app, caller, open, changed)
}

/**
 * Returns the id of the dependency, which the caller must be able to read.
 *
 * @throws PULL_REQUEST_NOT_FOUND, also for a repository that the caller may not read
 */
async function findOther(
  app: ReposApp,
  caller: SignedIn,
  { repository, owner }: Omit<OpenPull, 'pull'>,
  reference: DependencyReference,
): Promise<number> {
  const name = {
    owner: reference.owner || owner.name,
    repo: reference.repo || repository.name,
    number: reference.number,
  }
  try {
    return (await openPull(app, caller, name, 'read')).pull.id
  } catch (error) {
    const isHidden = error instanceof DomainError && error.reason.startsWith('REPOSITORY_')
    throw isHidden ? new DomainError('PULL_REQUEST_NOT_FOUND') : error
  }
}

/**
 * Checks that a pull request to merge has no open dependency.
 *
 * @throws MERGE_BLOCKED
 */
export async function checkMergeNotBlocked(db: Db, { id }: PullRequest): Promise<void> {
  if (await rows.isBlocked(db, id)) throw new DomainError('MERGE_BLOCKED')
}

/**
 * Checks that a pull request to close has no open dependency.
 *
 * @throws CLOSE_BLOCKED
 */
export async function checkCloseNotBlocked(db: Db, { id }: PullRequest): Promise<void> {
  if (await rows.isBlocked(db, id)) throw new DomainError('CLOSE_BLOCKED')
}
