import { prepareFirst } from '../database/prepared.ts'
import type { NewRepository, Repository, RepositoryChanges } from '../schema/repos.ts'
import type { Db, Tx } from '../schema/schema.ts'

const repositoryByName = prepareFirst((db, ownerId: number, key: string) =>
  db
    .selectFrom('repositories')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('name_key', '=', key),
)

const repositoryById = prepareFirst((db, id: number) =>
  db.selectFrom('repositories').selectAll().where('id', '=', id),
)

const redirectByName = prepareFirst((db, ownerId: number, key: string) =>
  db
    .selectFrom('repository_redirects')
    .innerJoin('repositories', 'repositories.id', 'repository_redirects.repository_id')
    .selectAll('repositories')
    .where('repository_redirects.owner_id', '=', ownerId)
    .where('repository_redirects.name_key', '=', key),
)

/** The repository with a folded name. */
export function findRepository(
  db: Db,
  ownerId: number,
  nameKey: string,
): Promise<Repository | undefined> {
  return repositoryByName(db, ownerId, nameKey)
}

export function findRepositoryById(db: Db, id: number): Promise<Repository | undefined> {
  return repositoryById(db, id)
}

/** The repository that had a folded name before, and has another one now. */
export function findRenamedRepository(
  db: Db,
  ownerId: number,
  nameKey: string,
): Promise<Repository | undefined> {
  return redirectByName(db, ownerId, nameKey)
}

/** The repositories with these ids, by id. */
export async function findRepositoriesByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Repository>> {
  if (ids.length === 0) return new Map()
  const found = await db.selectFrom('repositories').selectAll().where('id', 'in', ids).execute()
  return new Map(found.map((repository) => [repository.id, repository]))
}

/** The ids of all repositories of an owner. */
export async function repositoryIdsOf(db: Db, ownerId: number): Promise<number[]> {
  const rows = await db
    .selectFrom('repositories')
    .select('id')
    .where('owner_id', '=', ownerId)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Stores a repository, which takes its name over from one that had it before.
 *
 * @returns its id.
 * @throws a unique violation when the owner has one of that name.
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

/** Changes a repository that exists. */
export async function updateRepository(
  tx: Tx,
  id: number,
  changes: RepositoryChanges,
): Promise<void> {
  await tx.updateTable('repositories').set(changes).where('id', '=', id).execute()
}

/**
 * Gives a repository another name, another owner, or both. What it was called leads to it from now
 * on.
 *
 * @param from the repository as it is in this transaction.
 * @throws a unique violation when the owner has another one of that name, or another fork of the
 *   same parent.
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

/** Makes the forks of a repository private, and theirs, and so on. */
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

/** Deletes a repository with every row that hangs off it. */
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
