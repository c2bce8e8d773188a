import { prepareFirst } from '../database/prepared.ts'
import type { Repository } from '../schema/repos.ts'
import type { Db } from '../schema/schema.ts'
import { type RepositoryReader, readableBy } from './repository-readers.ts'

const forkOfOwner = prepareFirst((db, ownerId: number, parentId: number) =>
  db
    .selectFrom('repositories')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('parent_id', '=', parentId),
)

/** The fork of a repository that an owner has. */
export function findForkOf(
  db: Db,
  ownerId: number,
  parentId: number,
): Promise<Repository | undefined> {
  return forkOfOwner(db, ownerId, parentId)
}

/** Forks of a repository that somebody may read, oldest first. */
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

/** How many there are in that list. */
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
