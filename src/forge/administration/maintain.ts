import { transaction } from '../../platform/database/database.ts'
import { allRepositoryIds } from '../../platform/database/maintenance.ts'
import type { Db } from '../../platform/database/schema.ts'
import { STEPS, type Step } from '../../platform/git/maintenance/steps.ts'
import { findOwnerById, findOwnerByNameKey } from '../accounts/users/owners.rows.ts'
import { nameKey } from '../core/names.ts'
import { findRepository, findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import { repositoryNameKey } from '../repositories/lifecycle/repository-fields.ts'
import { findMaintenance, putMaintenance } from '../repositories/maintenance/maintenance.rows.ts'
import { isStep } from '../repositories/maintenance/step-reports.ts'
import type { Repository } from '../repositories/schema.ts'

/** A repository for which the operator has asked for steps. */
export interface Maintained {
  readonly id: number
  /** Owner and name. */
  readonly name: string
}

/**
 * Returns the steps that the operator has named; without a name all but `full` and `prune`, which
 * write every object again.
 *
 * @throws Error with a sentence for an unknown name.
 */
export function namedSteps(names: readonly string[]): Step[] {
  const unknown = names.find((name) => !isStep(name))
  if (unknown !== undefined)
    throw new Error(`there is no step ${unknown}: the steps are ${STEPS.join(', ')}`)
  if (names.length > 0) return STEPS.filter((step) => names.includes(step))
  return STEPS.filter((step) => step !== 'full' && step !== 'prune')
}

/**
 * Records a request of the operator for steps. The worker of maintenance runs them.
 *
 * @param target number of a repository, or owner and name; undefined for all repositories.
 * @param nowMs Unix milliseconds.
 * @throws Error with a sentence when there is no such repository.
 */
export async function requestAsOperator(
  db: Db,
  target: string | undefined,
  steps: readonly Step[],
  nowMs: number,
): Promise<Maintained[]> {
  const found = target === undefined ? await everyRepository(db) : [await findNamed(db, target)]
  const requested = steps.join(',')
  // A failure from now on is one of these steps.
  const fresh = { failures: 0, error: '', pause_time: null, waiting_time: null }
  for (const { id } of found)
    await transaction(db, (tx) =>
      putMaintenance(tx, id, { ...fresh, requested, check_time: nowMs }),
    )
  return found
}

/**
 * Returns how the requested steps of a repository have ended: undefined before their end, empty for
 * a success, else why a step failed.
 */
export async function resultOfRequest(db: Db, id: number): Promise<string | undefined> {
  const row = await findMaintenance(db, id)
  if (!row) return ''
  if (row.failures > 0 || row.waiting_time !== null) return row.error
  if (row.requested === '') return ''
  return row.check_time === null ? 'the folder of the repository is missing' : undefined
}

async function everyRepository(db: Db): Promise<Maintained[]> {
  const all: Maintained[] = []
  for (const id of await allRepositoryIds(db)) {
    const repository = await findRepositoryById(db, id)
    if (repository) all.push(await withName(db, repository))
  }
  return all
}

async function findNamed(db: Db, target: string): Promise<Maintained> {
  const repository = /^\d+$/.test(target)
    ? await findRepositoryById(db, Number(target))
    : await findByName(db, target)
  if (!repository) throw new Error(`there is no repository ${target}`)
  return withName(db, repository)
}

/**
 * Returns the repository with an owner and a name.
 *
 * @param fullName such as `ada/tools`.
 */
export async function findByName(db: Db, fullName: string): Promise<Repository | undefined> {
  const [ownerName = '', name = ''] = fullName.split('/')
  const owner = await findOwnerByNameKey(db, nameKey(ownerName))
  return owner && findRepository(db, owner.id, repositoryNameKey(name))
}

async function withName(db: Db, { id, owner_id, name }: Repository): Promise<Maintained> {
  const owner = await findOwnerById(db, owner_id)
  return { id, name: `${owner?.name ?? owner_id}/${name}` }
}
