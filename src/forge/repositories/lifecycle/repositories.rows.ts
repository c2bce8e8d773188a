import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { startsWithSql } from '../../../platform/database/database.ts'
import { numbersOf, prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../../platform/database/schema.ts'
import {
  isHiddenFrom,
  isNearTo,
  isOpenTo,
  type OpenTo,
  type RepositoryReader,
  readableBy,
} from '../access/repository-readers.rows.ts'
import type { NewRepository, Repository, RepositoryChanges, RepositoryTransfer } from '../schema.ts'

/** Returns the repository with a name key. */
export const findRepository = prepareFirst((db, ownerId: number, key: string) =>
  db
    .selectFrom('repositories')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('name_key', '=', key),
)

/** Returns the repository with a name key of the account with a folded name. */
export const findRepositoryOfNames = prepareFirst((db, ownerKey: string, key: string) =>
  db
    .selectFrom('repositories')
    .selectAll()
    .where('owner_id', '=', (eb) =>
      eb.selectFrom('account_names').select('account_id').where('name_key', '=', ownerKey),
    )
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

/** The number of names that a list of the repositories that begin with a text looks at. */
const MAX_EXAMINED = 1000

/**
 * Returns repositories of some owners whose folded names begin with a text, and that a reader can
 * access, by owner and name. The index of names bounds the work: it does not depend on how many
 * repositories the reader cannot access.
 */
export async function readableFrom(
  db: Db,
  reader: RepositoryReader,
  ownerIds: readonly number[],
  begin: string,
  limit: number,
): Promise<Repository[]> {
  if (ownerIds.length === 0) return []
  const examined = db
    .selectFrom('repositories as named')
    .select('named.id')
    .where('named.owner_id', 'in', ownerIds)
    .where(({ ref }) => startsWithSql(ref('named.name_key'), begin))
    // The index has this order for one owner. For more, the databases may have to sort all names.
    .$if(ownerIds.length === 1, (query) => query.orderBy('named.name_key'))
    .limit(MAX_EXAMINED)
  return db
    .selectFrom('repositories')
    .selectAll()
    .where('id', 'in', examined)
    .where(readableBy(reader))
    .orderBy('owner_id')
    .orderBy('name_key')
    .limit(limit)
    .execute()
}

/** Returns the ids of all repositories of an owner. */
export async function repositoryIdsOf(db: Db, ownerId: number): Promise<number[]> {
  const rows = await db
    .selectFrom('repositories')
    .select('id')
    .where('owner_id', '=', ownerId)
    .execute()
  return rows.map(({ id }) => id)
}

/** Returns the number of repositories of an owner. */
export async function countRepositoriesOf(db: Db, ownerId: number): Promise<number> {
  const { count } = await db
    .selectFrom('repositories')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('owner_id', '=', ownerId)
    .executeTakeFirstOrThrow()
  return Number(count)
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

/**
 * Returns a query for the number of all repositories that a reader can access. Triggers count the
 * repositories, so the query reads only those of hidden owners and those near to the reader.
 */
export function countReadable(db: Db, reader: RepositoryReader) {
  return db.selectNoFrom(numberOf(db, reader).as('count'))
}

function numberOf(db: Db, reader: RepositoryReader) {
  const { userId, needsSignIn, restricted, publicOnly, administrator } = reader
  if (needsSignIn) return sql<number>`0`
  if (administrator !== 'none') return publicOnly ? openTo(db, 'everybody') : all(db)
  if (userId === undefined) return openTo(db, 'everybody')
  const near = (eb: Repositories) => eb.and([isNearTo(eb, userId), readableBy(reader)(eb)])
  if (restricted) return sql<number>`${counted(db, near)}`
  if (publicOnly) return openTo(db, 'everybody')
  const granted = counted(db, (eb) => eb.and([near(eb), eb.not(isOpenTo(eb, 'accounts'))]))
  return sql<number>`${openTo(db, 'accounts')} + ${granted}`
}

type Repositories = ExpressionBuilder<Schema, 'repositories'>

function counted(db: Db, where: (eb: Repositories) => Expression<SqlBool>) {
  return db
    .selectFrom('repositories')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(where)
}

function all(db: Db) {
  return sql<number>`${sumOf(db)}`
}

/** The number of the public repositories without those that some readers need a grant for. */
function openTo(db: Db, readers: OpenTo) {
  const open = sumOf(db).where('private', '=', sql.lit(0))
  return sql<number>`${open} - ${counted(db, (eb) => isHiddenFrom(eb, readers))}`
}

function sumOf(db: Db) {
  return db
    .selectFrom('repository_counts')
    .select(sql<number>`cast(sum(count) as bigint)`.as('count'))
}

/** Returns the pending transfer of a repository, if there is one. */
export function findTransfer(
  db: Db,
  repositoryId: number,
): Promise<RepositoryTransfer | undefined> {
  return db
    .selectFrom('repository_transfers')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
}

/** Returns the pending transfers among repositories, by repository id. */
export async function findTransfers(
  db: Db,
  repositoryIds: readonly number[],
): Promise<ReadonlyMap<number, RepositoryTransfer>> {
  if (repositoryIds.length === 0) return new Map()
  const found = await transfersOf(db, JSON.stringify(repositoryIds))
  return new Map(found.map((transfer) => [transfer.repository_id, transfer]))
}

const transfersOf = prepareQuery((db, repositoryIds: string) =>
  db
    .selectFrom('repository_transfers')
    .selectAll()
    .where('repository_id', 'in', numbersOf(repositoryIds)),
)

/**
 * Inserts a transfer.
 *
 * @throws a unique violation if the repository has a pending transfer
 */
export async function insertTransfer(tx: Tx, transfer: RepositoryTransfer): Promise<void> {
  await tx.insertInto('repository_transfers').values(transfer).execute()
}

/**
 * Deletes a transfer.
 *
 * @returns whether there was one
 */
export async function deleteTransfer(tx: Tx, repositoryId: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('repository_transfers')
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
