import type { Db } from '../../../platform/database/schema.ts'
import { findForkOf, findInNetwork } from '../lifecycle/forks.rows.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import type { Repository } from '../schema.ts'

/** Maximum number of generations of forks that are followed. */
export const MAX_GENERATIONS = 20

/** Returns whether two repositories are in the same network of forks. */
export async function areRelated(db: Db, one: Repository, other: Repository): Promise<boolean> {
  return one.id === other.id || (await findOrigin(db, one)).id === (await findOrigin(db, other)).id
}

/**
 * Finds the repository of an owner in the network of a repository: itself, its fork, its parent, or
 * else the oldest one.
 */
export async function findRelated(
  db: Db,
  repository: Repository,
  ownerId: number,
): Promise<number | undefined> {
  const { id, owner_id, parent_id: parentId } = repository
  if (owner_id === ownerId) return id
  const fork = await findForkOf(db, ownerId, id)
  if (fork) return fork.id
  const parent = parentId === null ? undefined : await findRepositoryById(db, parentId)
  if (parent?.owner_id === ownerId) return parent.id
  const origin = await findOrigin(db, repository)
  return origin.owner_id === ownerId
    ? origin.id
    : findInNetwork(db, origin.id, ownerId, MAX_GENERATIONS)
}

/** Returns the repository at the root of a network of forks. */
export async function findOrigin(db: Db, repository: Repository): Promise<Repository> {
  let origin = repository
  for (let generation = 0; generation < MAX_GENERATIONS; generation += 1) {
    const { parent_id: parentId } = origin
    const parent = parentId === null ? undefined : await findRepositoryById(db, parentId)
    if (!parent) break
    origin = parent
  }
  return origin
}
