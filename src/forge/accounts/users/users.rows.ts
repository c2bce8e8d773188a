import { sql } from 'kysely'
import {
  numbersOf,
  prepareFirst,
  prepareQuery,
  textsOf,
} from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { User } from '../../core/schema.ts'
import type {
  AccountsTable,
  CreateRequest,
  NewUser,
  UserAvatarsTable,
  UserChanges,
} from '../schema.ts'

/** Returns the user with a folded name. */
export const findUserByNameKey = prepareFirst((db, key: string) =>
  db
    .selectFrom('account_names')
    .innerJoin('users', 'users.id', 'account_names.account_id')
    .selectAll('users')
    .where('account_names.name_key', '=', key),
)

/** Returns the account with a folded e-mail address. The empty address matches no account. */
export const findUserByEmailKey = prepareFirst((db, key: string) =>
  db
    .selectFrom('users')
    .selectAll()
    .where('email_key', '=', key)
    // The index omits the empty key. SQLite uses a partial index only if the query states its
    // condition literally (https://sqlite.org/partialindex.html, section 3).
    .where('email_key', '<>', sql.lit('')),
)

export const findUserById = prepareFirst((db, id: number) =>
  db.selectFrom('users').selectAll().where('id', '=', id),
)

/**
 * Returns the accounts, active or not, with folded e-mail addresses, by address: primary ones that
 * no token has set, and additional ones that are verified.
 */
export async function findUsersByEmailKeys(
  db: Db,
  keys: readonly string[],
): Promise<ReadonlyMap<string, User>> {
  if (keys.length === 0) return new Map()
  const found = await usersByEmailKeys(db, JSON.stringify(keys))
  return new Map(found.map(({ named_key, ...user }) => [named_key, user]))
}

const usersByEmailKeys = prepareQuery((db, keys: string) =>
  db
    .selectFrom(
      db
        .selectFrom('users')
        .select(['id as user_id', 'email_key as named_key'])
        .where('email_key', 'in', textsOf(keys))
        // As in `findUserByEmailKey`.
        .where('email_key', '<>', sql.lit(''))
        .where('email_by_token', '=', sql.lit(0))
        .unionAll(
          db
            .selectFrom('user_emails')
            .select(['user_id', 'email_key as named_key'])
            .where('email_key', 'in', textsOf(keys))
            .where('verify_time', 'is not', null),
        )
        .as('named'),
    )
    .innerJoin('users', 'users.id', 'named.user_id')
    .selectAll('users')
    .select('named.named_key'),
)

/** Returns the accounts with these ids, active or not, by id. */
export async function findUsersByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, User>> {
  if (ids.length === 0) return new Map()
  const found = await usersByIds(db, JSON.stringify(ids))
  return new Map(found.map((user) => [user.id, user]))
}

const usersByIds = prepareQuery((db, ids: string) =>
  db.selectFrom('users').selectAll().where('id', 'in', numbersOf(ids)),
)

/** Returns the active accounts with these folded usernames, in no particular order. */
export async function findActiveUsersByUsernameKeys(
  db: Db,
  keys: readonly string[],
): Promise<User[]> {
  const named = await usersByNameKeys(db, JSON.stringify(keys))
  // Not in SQL: for a hundred names, SQLite would scan all active accounts instead of looking up
  // the names.
  return named.filter((user) => user.state === 'NORMAL')
}

const usersByNameKeys = prepareQuery((db, keys: string) =>
  db
    .selectFrom('account_names')
    .innerJoin('users', 'users.id', 'account_names.account_id')
    .selectAll('users')
    .where('account_names.name_key', 'in', textsOf(keys)),
)

/** Returns the ids of the accounts, active or not, with these folded names, by name. */
export async function findUserIdsByNameKeys(
  db: Db,
  keys: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (keys.length === 0) return new Map()
  const found = await db
    .selectFrom('account_names')
    .innerJoin('users', 'users.id', 'account_names.account_id')
    .select(['name_key', 'users.id'])
    .where('name_key', 'in', keys)
    .execute()
  return new Map(found.map(({ name_key, id }) => [name_key, id]))
}

/** Returns the id of the user or organisation with a folded name. */
export async function findNameHolder(db: Db, key: string): Promise<number | undefined> {
  const holder = await db
    .selectFrom('account_names')
    .select('account_id')
    .where('name_key', '=', key)
    .executeTakeFirst()
  return holder?.account_id
}

/**
 * Returns whether an account other than `exceptId` has the e-mail key, as its primary address or as
 * a verified one.
 */
export async function emailTaken(db: Db, emailKey: string, exceptId?: number): Promise<boolean> {
  const user = await findUserByEmailKey(db, emailKey)
  if (user !== undefined && user.id !== exceptId) return true
  const additional = await db
    .selectFrom('user_emails')
    .select('user_id')
    .where('email_key', '=', emailKey)
    .where('verify_time', 'is not', null)
    .executeTakeFirst()
  return additional !== undefined && additional.user_id !== exceptId
}

/** A position in the list of accounts: the sort key of the last account before it. */
export interface UserListPosition {
  readonly createTime: number
  readonly id: number
}

interface UserListFilter {
  readonly includeArchived: boolean
  /** Folded username; undefined for all. */
  readonly usernameKey: string | undefined
}

/** The columns that lists of accounts show. */
const SHOWN_COLUMNS = [
  'id',
  'user_id',
  'username',
  'email',
  'display_name',
  'avatar_url',
  'description',
  'role',
  'state',
  'create_time',
  'update_time',
] as const

/** An account as lists show it. */
export type ShownUser = Pick<User, (typeof SHOWN_COLUMNS)[number]>

/** Lists accounts after a position, newest first, then by descending id. */
export function listUsers(
  db: Db,
  filter: UserListFilter,
  after: UserListPosition | undefined,
  limit: number,
): Promise<ShownUser[]> {
  const { first, next } =
    filter.usernameKey === undefined
      ? pagesOf[filter.includeArchived ? 'all' : 'active']
      : preparePages((reading) => selectUsers(reading, filter))
  return after ? next(db, after.createTime, after.id, limit) : first(db, limit)
}

/** Prepares the first page of some accounts and the page after a position. */
function preparePages(select: (db: Db) => ReturnType<typeof selectUsers>) {
  const pages = (db: Db) =>
    select(db)
      .select(SHOWN_COLUMNS.map((column) => `users.${column}` as const))
      .orderBy('users.create_time', 'desc')
      .orderBy('users.id', 'desc')
  return {
    first: prepareQuery((db, limit: number) => pages(db).limit(limit)),
    next: prepareQuery((db, createTime: number, id: number, limit: number) =>
      pages(db)
        .where(({ eb, refTuple, tuple }) =>
          eb(refTuple('users.create_time', 'users.id'), '<', tuple(createTime, id)),
        )
        .limit(limit),
    ),
  }
}

/** The pages without a username, which are the usual ones. */
const pagesOf = {
  all: preparePages((db) => selectUsers(db, { includeArchived: true, usernameKey: undefined })),
  active: preparePages((db) => selectUsers(db, { includeArchived: false, usernameKey: undefined })),
}

/** Returns the number of accounts that match a filter. */
export async function countUsers(db: Db, filter: UserListFilter): Promise<number> {
  if (filter.usernameKey !== undefined) {
    return (await selectUsers(db, filter).select('users.id').execute()).length
  }
  return (await userCounts(db))
    .filter((row) => filter.includeArchived || row.state === 'NORMAL')
    .reduce((total, row) => total + row.count, 0)
}

/** The rows of all shards. */
const userCounts = prepareQuery((db) => db.selectFrom('user_counts').select(['state', 'count']))

function selectUsers(db: Db, filter: UserListFilter) {
  return db
    .selectFrom('users')
    .$if(!filter.includeArchived, (query) => query.where('users.state', '=', 'NORMAL'))
    .$if(filter.usernameKey !== undefined, (query) =>
      query
        .innerJoin('account_names', 'account_names.account_id', 'users.id')
        .where('account_names.name_key', '=', filter.usernameKey ?? '')
        // The key may also be the custom id of another account.
        .where((eb) =>
          eb(eb.fn<string>('lower', ['users.username']), '=', filter.usernameKey ?? ''),
        ),
    )
}

export async function anyUserExists(db: Db): Promise<boolean> {
  return (await oldestUser(db)).length > 0
}

const oldestUser = prepareQuery((db) => db.selectFrom('users').select('id').orderBy('id').limit(1))

/** Returns whether an active administrator other than `id` exists. */
export async function anotherAdministratorExists(tx: Tx, id: number): Promise<boolean> {
  const row = await tx
    .selectFrom('users')
    .select('id')
    .where('role', '=', 'ADMIN')
    .where('state', '=', 'NORMAL')
    .where('id', '<>', id)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Stores an account. `claimNames` must claim its names in the same transaction. */
export async function insertUser(tx: Tx, user: NewUser): Promise<User> {
  const id = await insertAccount(tx, 'USER')
  return tx
    .insertInto('users')
    .values({ ...user, id })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Allocates the id of a new account. */
export async function insertAccount(tx: Tx, kind: AccountsTable['kind']): Promise<number> {
  const { id } = await tx
    .insertInto('accounts')
    .values({ kind })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Updates an existing account. */
export function updateUser(tx: Tx, id: number, changes: UserChanges): Promise<User> {
  return tx
    .updateTable('users')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Changes the texts of an account. Returns undefined if the account was deleted. */
export function updateTexts(
  db: Db,
  id: number,
  changes: Pick<UserChanges, 'display_name' | 'description' | 'update_time'>,
): Promise<User | undefined> {
  return db.updateTable('users').set(changes).where('id', '=', id).returningAll().executeTakeFirst()
}

/** Deletes a user and all rows that depend on the account. */
export async function deleteUser(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('users').where('id', '=', id).execute()
}

/**
 * Replaces the names of an account. Its former names redirect to it until another account takes
 * them.
 *
 * @throws a unique violation if another account has one of the names.
 */
export async function claimNames(
  tx: Tx,
  accountId: number,
  keys: ReadonlySet<string>,
): Promise<void> {
  const former = await tx
    .deleteFrom('account_names')
    .where('account_id', '=', accountId)
    .returning('name_key')
    .execute()
  await tx
    .insertInto('account_names')
    .values([...keys].map((name_key) => ({ name_key, account_id: accountId })))
    .execute()
  await tx
    .deleteFrom('account_redirects')
    .where('name_key', 'in', [...keys])
    .execute()
  const left = former.filter(({ name_key }) => !keys.has(name_key))
  if (left.length === 0) return
  await tx
    .insertInto('account_redirects')
    .values(left.map(({ name_key }) => ({ name_key, account_id: accountId })))
    .execute()
}

/** Stores or replaces the picture of an account, or deletes it if undefined. */
export async function putAvatar(
  tx: Tx,
  userId: number,
  avatar: Omit<UserAvatarsTable, 'user_id'> | undefined,
) {
  await tx.deleteFrom('user_avatars').where('user_id', '=', userId).execute()
  if (!avatar) return
  const { content_type, data } = avatar
  await tx.insertInto('user_avatars').values({ user_id: userId, content_type, data }).execute()
}

export function findAvatar(db: Db, userId: number): Promise<UserAvatarsTable | undefined> {
  return db.selectFrom('user_avatars').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

export function findCreateRequest(
  db: Db,
  caller: string,
  requestId: string,
): Promise<CreateRequest | undefined> {
  return db
    .selectFrom('create_requests')
    .selectAll()
    .where('caller', '=', caller)
    .where('request_id', '=', requestId)
    .executeTakeFirst()
}

export async function insertCreateRequest(tx: Tx, request: CreateRequest): Promise<void> {
  await tx.insertInto('create_requests').values(request).execute()
}

/** Deletes the create requests made before a time in Unix seconds. */
export async function deleteCreateRequestsBefore(tx: Tx, time: number): Promise<void> {
  await tx.deleteFrom('create_requests').where('create_time', '<', time).execute()
}

/** Returns whether an account is the author of memos, which are deleted with the account. */
export async function ownsMemos(db: Db, userId: number): Promise<boolean> {
  const memo = await db
    .selectFrom('memos')
    .select('id')
    .where('creator_id', '=', userId)
    .limit(1)
    .executeTakeFirst()
  return memo !== undefined
}

/**
 * Returns whether an account is the author of content that others may rely on: memos, pull
 * requests, comments, reviews or releases. Pending reviews and review requests do not count.
 */
export async function ownsContent(db: Db, userId: number): Promise<boolean> {
  const { rows } = await sql<{ owns: number }>`select
    exists (select 1 from memos where creator_id = ${userId})
    or exists (select 1 from issues where poster_id = ${userId})
    or exists (select 1 from issue_comments where poster_id = ${userId})
    or exists (select 1 from reviews where reviewer_id = ${userId} and state not in ('PENDING', 'REQUEST_REVIEW'))
    or exists (select 1 from review_comments join reviews on reviews.id = review_id
      where poster_id = ${userId} and state <> 'PENDING')
    or exists (select 1 from releases where publisher_id = ${userId} and tag_only = 0) as owns`.execute(
    db,
  )
  return rows[0]?.owns === 1
}
