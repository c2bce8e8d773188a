import { numbersOf, prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { NewRepository, Repository, RepositoryChanges } from '../schema.ts'

/** Returns the repository with a name key. */
export const findRepository = prepareFirst((db, ownerId: number, key: string) =>
  db
    .selectFrom('repositories')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('name_key', '=', key),
)

export const findRepositoryById = prepareFirst((db, id: number) =>
  db.selectFrom('repositories').selectAll().where('id', '=', id),
)

/** Returns the repository with a former name key. */
export const findRenamedRepository = prepareFirst((db, ownerId: number, key: string) =>
  db
    .selectFrom('repository_redirects')
    .innerJoin('repositories', 'repositories.id', 'repository_redirects.repository_id')
    .selectAll('repositories')
    .where('repository_redirects.owner_id', '=', ownerId)
    .where('repository_redirects.name_key', '=', key),
)

/** Returns repositories by their ids. */
export async function findRepositoriesByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Repository>> {
  if (ids.length === 0) return new Map()
  const found = await repositoriesByIds(db, JSON.stringify(ids))
  return new Map(found.map((repository) => [repository.id, repository]))
}

const repositoriesByIds = prepareQuery((db, ids: string) =>
  db.selectFrom('repositories').selectAll().where('id', 'in', numbersOf(ids)),
)

/** Returns the ids of all repositories of an owner. */
export async function repositoryIdsOf(db: Db, ownerId: number): Promise<number[]> {
  const rows = await db
    .selectFrom('repositories')
    .select('id')
    .where('owner_id', '=', ownerId)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Inserts a repository. A redirect from the same name is removed.
 *
 * @returns the id of the repository
 * @throws a unique violation if the owner has a repository with that name
 */
export async function insertRepository(tx: Tx, repository: NewRepository): Promise<number> {
  const { id } = await tx
    .insertInto('repositories')
    .values(repository)
    .returning('id')
    .executeTakeFirstOrThrow()
  await deleteRedirect(tx, repository.owner_id, repository.name_key)
  return id
}

/** Updates a repository. */
export async function updateRepository(
  tx: Tx,
  id: number,
  changes: RepositoryChanges,
): Promise<void> {
  await tx.updateTable('repositories').set(changes).where('id', '=', id).execute()
}

/**
 * Renames or transfers a repository. Its former name redirects to it.
 *
 * @param from the repository as read in this transaction
 * @throws a unique violation if the owner has a repository with that name, or another fork of the
 *   same parent
 */
export async function moveRepository(
  tx: Tx,
  from: Repository,
  to: Pick<Repository, 'owner_id' | 'name' | 'name_key'>,
): Promise<void> {
  const { id, owner_id, name_key } = from
  await tx.updateTable('repositories').set(to).where('id', '=', id).execute()
  await deleteRedirect(tx, to.owner_id, to.name_key)
  if (owner_id === to.owner_id && name_key === to.name_key) return
  await tx
    .insertInto('repository_redirects')
    .values({ owner_id, name_key, repository_id: id })
    .execute()
}

/** Makes all direct and indirect forks of a repository private. */
export async function makeForksPrivate(tx: Tx, id: number): Promise<void> {
  await tx
    .withRecursive('descendants(id)', (db) =>
      db
        .selectFrom('repositories')
        .select('repositories.id')
        .where('parent_id', '=', id)
        .union(
          db
            .selectFrom('repositories')
            .innerJoin('descendants', 'descendants.id', 'repositories.parent_id')
            .select('repositories.id'),
        ),
    )
    .updateTable('repositories')
    .set({ private: 1 })
    .where('id', 'in', (db) => db.selectFrom('descendants').select('descendants.id'))
    .execute()
}

/** Deletes a repository and its dependent rows. */
export async function deleteRepository(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('repositories').where('id', '=', id).execute()
}

async function deleteRedirect(tx: Tx, ownerId: number, nameKey: string): Promise<void> {
  await tx
    .deleteFrom('repository_redirects')
    .where('owner_id', '=', ownerId)
    .where('name_key', '=', nameKey)
    .execute()
}
