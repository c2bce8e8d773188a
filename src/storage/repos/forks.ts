import { prepareFirst } from '../database/prepared.ts'
import type { Repository } from '../schema/repos.ts'
import type { Db } from '../schema/schema.ts'
import { type RepositoryReader, readableBy } from './repository-readers.ts'

/** Returns the fork of a repository with an owner. */
export const findForkOf = prepareFirst((db, ownerId: number, parentId: number) =>
  db
    .selectFrom('repositories')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('parent_id', '=', parentId),
)

/** Returns the forks of a repository that a reader can access, oldest first. */
export function listForks(
  db: Db,
  parentId: number,
  reader: RepositoryReader,
  offset: number,
  limit: number,
): Promise<Repository[]> {
  return db
    .selectFrom('repositories')
    .selectAll()
    .where('parent_id', '=', parentId)
    .where(readableBy(reader))
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of forks in that list. */
export async function countForks(
  db: Db,
  parentId: number,
  reader: RepositoryReader,
): Promise<number> {
  const { count } = await db
    .selectFrom('repositories')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('parent_id', '=', parentId)
    .where(readableBy(reader))
    .executeTakeFirstOrThrow()
  return count
}
