import { transaction } from '../../../platform/database/database.ts'
import { limboBytes } from '../../../platform/git/maintenance/limbo.ts'
import { type RepositoryState, readState } from '../../../platform/git/maintenance/state.ts'
import { STEPS, type Step } from '../../../platform/git/maintenance/steps.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { actsAsAdministrator, type Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { openRepository } from '../access/permissions.ts'
import { findRepositoriesByIds } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'
import { storeSize } from '../refs/repository-size.ts'
import type { RepositoryMaintenance } from '../schema.ts'
import { dueSteps } from './due-steps.ts'
import * as rows from './maintenance.rows.ts'
import { stepFailure } from './maintenance.ts'
import { dueSince } from './maintenance-checks.ts'
import { purge } from './prunes.ts'
import { isStep, parseSteps } from './step-reports.ts'

/** Time between requests for the same repository. Each can take minutes of a core. */
const REQUEST_REST_SECONDS = 60 * 60

/** The maintenance of a repository for its administrators. */
export interface MaintenanceView {
  readonly state: RepositoryState
  readonly due: readonly Step[]
  /** Undefined for a repository that never needed any. */
  readonly row: RepositoryMaintenance | undefined
}

/** A repository in the queue, for administrators of the instance. */
export interface QueueEntry {
  readonly fullName: string
  readonly row: RepositoryMaintenance
}

/**
 * Returns the state of a repository and its latest steps.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_ACCESS_DENIED
 */
export async function viewMaintenance(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<MaintenanceView> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  const [state, row] = await Promise.all([
    readState(app.git, repository.id),
    rows.findMaintenance(app.db, repository.id),
  ])
  // The repository was deleted meanwhile.
  if (!state) throw new DomainError('REPOSITORY_NOT_FOUND')
  return { state, due: dueSteps(state, false), row }
}

/**
 * Lets the worker run steps of a repository soon, whether they are due or not.
 *
 * @param names of steps; none for all but `full` and `prune`, which write every object again.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_ACCESS_DENIED, UNKNOWN_MAINTENANCE_STEP,
 *   MAINTENANCE_LIMIT_REACHED
 */
export async function requestMaintenance(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  names: readonly string[],
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  const unknown = names.find((step) => !isStep(step))
  if (unknown !== undefined) throw new DomainError('UNKNOWN_MAINTENANCE_STEP', { name: unknown })
  const steps =
    names.length === 0 ? STEPS.filter((step) => step !== 'full' && step !== 'prune') : names
  const now = app.clock.now()
  const isLimited = !actsAsAdministrator(caller, 'write')
  await transaction(app.db, async (tx) => {
    const row = await rows.findMaintenance(tx, repository.id)
    const restsUntil = (row?.request_time ?? 0) + REQUEST_REST_SECONDS
    if (isLimited && restsUntil > nowSeconds(app.clock))
      throw new DomainError('MAINTENANCE_LIMIT_REACHED')
    await rows.putMaintenance(tx, repository.id, {
      requested: [...new Set([...parseSteps(row?.requested ?? ''), ...steps])].join(','),
      check_time: dueSince(row?.check_time ?? null, now),
      ...(isLimited && { request_time: nowSeconds(app.clock) }),
    })
  })
  app.signals.maintenance.notify()
}

/**
 * Removes all objects for good that no ref and no row of a repository needs, before the answer. The
 * work goes on when the caller leaves.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, PURGE_FAILED
 */
export async function purgeObjects(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  const work = app.coordination.exclusive(`maintenance ${repository.id}`, () =>
    purgeLocked(app, repository.id),
  )
  app.background.run('purge', () => work.then(() => {}))
  const cause = await work
  if (cause !== '') throw new DomainError('PURGE_FAILED', { cause })
}

/**
 * @returns why the purge failed, empty for a success.
 * @throws REPOSITORY_NOT_FOUND when the repository was deleted meanwhile
 */
async function purgeLocked(app: ReposApp, id: number): Promise<string> {
  const deletion = new AbortController()
  app.maintenance.running.set(id, deletion)
  let cause = ''
  try {
    await purge(app, id, deletion.signal)
  } catch (error) {
    if (deletion.signal.aborted) throw new DomainError('REPOSITORY_NOT_FOUND')
    cause = stepFailure(error)
  } finally {
    app.maintenance.running.delete(id)
  }
  // Other servers let go of what was removed.
  const changes = { step_time: app.clock.now() }
  await transaction(app.db, (tx) => rows.putMaintenance(tx, id, changes))
  app.signals.maintained.notify()
  await storeSize(app, id)
  return cause
}

/** Returns the bytes of all repositories by their kinds, for metrics. */
export async function bytesByKind({ db, git }: ReposApp): Promise<Record<string, number>> {
  return { ...(await rows.sumBytes(db)), limbo: await limboBytes(git) }
}

/** Returns the number of repositories that wait for a step, for metrics. */
export function countDueMaintenance({ db, clock }: ReposApp): Promise<number> {
  return rows.countDue(db, clock.now())
}

/** Returns the repositories that wait for a step or whose latest step failed. */
export async function listMaintenanceQueue(
  app: ReposApp,
  { offset, limit }: Page,
): Promise<{ readonly entries: readonly QueueEntry[]; readonly total: number }> {
  const { rows: found, total } = await rows.listQueue(app.db, app.clock.now(), offset, limit)
  const [owners, repositories] = await Promise.all([
    findOwnersByIds(
      app.db,
      found.map(({ ownerId }) => ownerId),
    ),
    findRepositoriesByIds(
      app.db,
      found.map((row) => row.repository_id),
    ),
  ])
  const entries = found.flatMap((row) => {
    const owner = owners.get(row.ownerId)
    const repository = repositories.get(row.repository_id)
    return owner && repository ? { fullName: `${owner.name}/${repository.name}`, row } : []
  })
  return { entries, total }
}
