import { type Generated, type Insertable, type Selectable, sql } from 'kysely'
import type { Db, Tx } from './database.ts'
import { prepareFirst, prepareQuery } from './prepared.ts'

export interface RepositoriesTable {
  /** Names the folder of its Git repository; never given a second time. */
  id: Generated<number>
  owner_id: number
  name: string
  /** The name folded for comparison. */
  name_key: string
  description: string
  website: string
  /** 0 or 1. */
  private: number
  /** Unix seconds; null while it is not archived. */
  archive_time: number | null
  /** Name without `refs/heads/`. Git's HEAD is the truth; this follows. */
  default_branch: string
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
}

/** Names that repositories had before. */
export interface RepositoryRedirectsTable {
  owner_id: number
  name_key: string
  repository_id: number
}

export type Repository = Selectable<RepositoriesTable>
export type NewRepository = Insertable<RepositoriesTable>

/** What may change of a repository, besides its name. */
export type RepositoryChanges = Partial<Omit<Repository, 'id' | 'name' | 'name_key' | 'create_time'>>

const repositoryByName = prepareFirst((db, ownerId: number, key: string) =>
  db.selectFrom('repositories').selectAll().where('owner_id', '=', ownerId).where('name_key', '=', key),
)

const repositoryById = prepareFirst((db, id: number) => db.selectFrom('repositories').selectAll().where('id', '=', id))

const redirectByName = prepareFirst((db, ownerId: number, key: string) =>
  db
    .selectFrom('repository_redirects')
    .innerJoin('repositories', 'repositories.id', 'repository_redirects.repository_id')
    .selectAll('repositories')
    .where('repository_redirects.owner_id', '=', ownerId)
    .where('repository_redirects.name_key', '=', key),
)

const publicOf = prepareQuery((db, ownerId: number, offset: number, limit: number) =>
  db
    .selectFrom('repositories')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('private', '=', sql.lit(0))
    .orderBy('name_key')
    .limit(limit)
    .offset(offset),
)

const allOf = prepareQuery((db, ownerId: number, offset: number, limit: number) =>
  db
    .selectFrom('repositories')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('name_key')
    .limit(limit)
    .offset(offset),
)

/** The repository with a folded name. */
export function findRepository(db: Db, ownerId: number, nameKey: string): Promise<Repository | undefined> {
  return repositoryByName(db, ownerId, nameKey)
}

export function findRepositoryById(db: Db, id: number): Promise<Repository | undefined> {
  return repositoryById(db, id)
}

/** The repository that had a folded name before, and has another one now. */
export function findRenamedRepository(db: Db, ownerId: number, nameKey: string): Promise<Repository | undefined> {
  return redirectByName(db, ownerId, nameKey)
}

/** Repositories of an owner by name; only those that are not private unless `withPrivate`. */
export function listRepositories(
  db: Db,
  ownerId: number,
  withPrivate: boolean,
  offset: number,
  limit: number,
): Promise<Repository[]> {
  return (withPrivate ? allOf : publicOf)(db, ownerId, offset, limit)
}

/** How many there are in that list. */
export async function countRepositories(db: Db, ownerId: number, withPrivate: boolean): Promise<number> {
  const { count } = await db
    .selectFrom('repositories')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('owner_id', '=', ownerId)
    .$if(!withPrivate, (query) => query.where('private', '=', sql.lit(0)))
    .executeTakeFirstOrThrow()
  return count
}

/** The ids of all repositories of an owner. */
export async function repositoryIdsOf(db: Db, ownerId: number): Promise<number[]> {
  const rows = await db.selectFrom('repositories').select('id').where('owner_id', '=', ownerId).execute()
  return rows.map(({ id }) => id)
}

/**
 * Stores a repository, which takes its name over from one that had it before.
 *
 * @returns its id.
 * @throws a unique violation when the owner has one of that name.
 */
export async function insertRepository(tx: Tx, repository: NewRepository): Promise<number> {
  const { id } = await tx.insertInto('repositories').values(repository).returning('id').executeTakeFirstOrThrow()
  await deleteRedirect(tx, repository.owner_id, repository.name_key)
  return id
}

/** Changes a repository that exists. */
export async function updateRepository(tx: Tx, id: number, changes: RepositoryChanges): Promise<void> {
  await tx.updateTable('repositories').set(changes).where('id', '=', id).execute()
}

/**
 * Gives a repository another name. Its old one leads to it from now on.
 *
 * @throws a unique violation when the owner has another one of that name.
 */
export async function renameRepository(tx: Tx, { id, owner_id, name_key }: Repository, name: string, key: string) {
  await tx.updateTable('repositories').set({ name, name_key: key }).where('id', '=', id).execute()
  await deleteRedirect(tx, owner_id, key)
  if (key === name_key) return
  await tx.insertInto('repository_redirects').values({ owner_id, name_key, repository_id: id }).execute()
}

/** Deletes a repository with every row that hangs off it. */
export async function deleteRepository(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('repositories').where('id', '=', id).execute()
}

async function deleteRedirect(tx: Tx, ownerId: number, nameKey: string): Promise<void> {
  await tx.deleteFrom('repository_redirects').where('owner_id', '=', ownerId).where('name_key', '=', nameKey).execute()
}
