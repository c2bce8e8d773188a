import type { Db } from '../../platform/database/schema.ts'
import {
  bringBack,
  limboEntries,
  measureEntry,
  repositoriesInLimbo,
} from '../../platform/git/maintenance/limbo.ts'
import type { Repositories } from '../../platform/git/repositories/repositories.ts'
import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import { findByName } from './maintain.ts'

/** What a prune has removed from a repository. */
interface RemovedObjects {
  /** Owner and name of the repository. */
  readonly name: string
  /** Time of the prune in Unix milliseconds. */
  readonly timeMs: number
  readonly bytes: number
  readonly objects: number
}

/** Yields what the limbo has, for the operator. */
export async function* readLimbo(
  db: Db,
  git: Repositories,
): AsyncGenerator<RemovedObjects, void, undefined> {
  for (const id of await repositoriesInLimbo(git)) {
    const repository = await findRepositoryById(db, id)
    const owner = repository && (await findOwnerById(db, repository.owner_id))
    if (!owner) continue
    for (const entry of await limboEntries(git, id)) {
      if (entry.isUnfinished) continue
      const name = `${owner.name}/${repository.name}`
      yield { name, timeMs: entry.timeMs, ...(await measureEntry(entry)) }
    }
  }
}

/**
 * Brings all objects of a repository back from the limbo.
 *
 * @param fullName owner and name of the repository.
 * @returns the number of objects.
 * @throws Error with a sentence when there is no such repository, or nothing to bring back.
 */
export async function bringObjectsBack(
  db: Db,
  git: Repositories,
  fullName: string,
): Promise<number> {
  const repository = await findByName(db, fullName)
  if (!repository) throw new Error(`there is no repository ${fullName}`)
  const entries = await limboEntries(git, repository.id)
  let count = 0
  for (const entry of entries.filter(({ isUnfinished }) => !isUnfinished)) {
    count += (await measureEntry(entry)).objects
    await bringBack(git, repository.id, entry)
  }
  if (count === 0) throw new Error(`nothing of ${fullName} can be brought back`)
  return count
}
