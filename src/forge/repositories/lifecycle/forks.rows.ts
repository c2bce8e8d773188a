import { sql } from 'kysely'
import { prepareFirst } from '../../../platform/database/prepared.ts'
import type { Db } from '../../../platform/database/schema.ts'
import { type RepositoryReader, readableBy } from '../access/repository-readers.rows.ts'
import type { Repository } from '../schema.ts'

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

/** Returns the numbers of all direct and indirect forks of a repository, the oldest first. */
export async function listDescendants(db: Db, id: number, limit: number): Promise<number[]> {
  const forks = await db
    .withRecursive('descendants(id)', (query) =>
      query
        .selectFrom('repositories')
        .select('repositories.id')
        .where('parent_id', '=', id)
        .union(
          query
            .selectFrom('repositories')
            .innerJoin('descendants', 'descendants.id', 'repositories.parent_id')
            .select('repositories.id'),
        ),
    )
    .selectFrom('descendants')
    .select('id')
    .orderBy('id')
    .limit(limit)
    .execute()
  return forks.map((fork) => fork.id)
}

/** Forks of one owner that are looked at. */
const MAX_FORKS = 1_000

/**
 * Returns the id of the oldest fork of an owner that descends from a repository.
 *
 * @param originId the repository at the root of a network of forks.
 * @param generations maximum number of generations between the two.
 */
export async function findInNetwork(
  db: Db,
  originId: number,
  ownerId: number,
  generations: number,
): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    with recursive lines (id, ancestor_id, generation) as (
      select id, parent_id, 1 from (
        select id, parent_id from repositories
        where owner_id = ${ownerId} and parent_id is not null order by id limit ${MAX_FORKS}
      ) as forks
      union all
      select lines.id, repositories.parent_id, lines.generation + 1
      from lines join repositories on repositories.id = lines.ancestor_id
      where repositories.parent_id is not null and lines.generation < ${generations}
    )
    select min(id) as id from lines where ancestor_id = ${originId}`.execute(db)
  return rows[0]?.id ?? undefined
}

/** Returns a repository at the root of a network of forks and its descendants, the oldest first. */
export function listNetwork(db: Db, originId: number, limit: number): Promise<Repository[]> {
  return db
    .withRecursive('network(id)', (tree) =>
      tree
        .selectFrom('repositories')
        .select('repositories.id')
        .where('repositories.id', '=', originId)
        .union(
          tree
            .selectFrom('repositories')
            .innerJoin('network', 'network.id', 'repositories.parent_id')
            .select('repositories.id'),
        ),
    )
    .selectFrom('repositories')
    .selectAll()
    .where('id', 'in', (eb) => eb.selectFrom('network').select('network.id'))
    .orderBy('id')
    .limit(limit)
    .execute()
}
