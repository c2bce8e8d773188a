import type { Insertable } from 'kysely'
import { prepareFirst } from '../../../platform/database/prepared.ts'
import type { Db } from '../../../platform/database/schema.ts'
import type { User } from '../../core/schema.ts'
import type { PersonalAccessToken, PersonalAccessTokensTable } from '../schema.ts'

const tokenAndOwner = prepareFirst((db, hash: string) =>
  db
    .selectFrom('personal_access_tokens as token')
    .innerJoin('users', 'users.id', 'token.user_id')
    .selectAll('users')
    .select([
      'token.id as token_id',
      'token.uuid as token_uuid',
      'token.scopes as token_scopes',
      'token.expires_at as token_expires_at',
      'token.last_used_at as token_last_used_at',
    ])
    .where('token.token_hash', '=', hash),
)

/** A token and the account that it belongs to. */
export interface OwnedToken {
  readonly owner: User
  readonly token: Pick<
    PersonalAccessToken,
    'id' | 'uuid' | 'scopes' | 'expires_at' | 'last_used_at'
  >
}

export async function findTokenByHash(db: Db, hash: string): Promise<OwnedToken | undefined> {
  const found = await tokenAndOwner(db, hash)
  if (!found) return undefined
  const {
    token_id: id,
    token_uuid: uuid,
    token_scopes: scopes,
    token_expires_at: expires_at,
    token_last_used_at: last_used_at,
    ...owner
  } = found
  return { owner, token: { id, uuid, scopes, expires_at, last_used_at } }
}

/**
 * Returns the account that a token belongs to; undefined if the token was deleted or has expired.
 * `now` is in Unix milliseconds.
 */
export const findOwnerOfLiveToken = prepareFirst((db, uuid: string, now: number) =>
  db
    .selectFrom('personal_access_tokens as token')
    .innerJoin('users', 'users.id', 'token.user_id')
    .selectAll('users')
    .where('token.uuid', '=', uuid)
    .where((eb) => eb.or([eb('token.expires_at', 'is', null), eb('token.expires_at', '>', now)])),
)

/**
 * Returns when a token expires, in Unix milliseconds; undefined if it does not expire or was
 * deleted.
 */
export async function findTokenExpiry(db: Db, uuid: string): Promise<number | undefined> {
  const token = await db
    .selectFrom('personal_access_tokens')
    .select('expires_at')
    .where('uuid', '=', uuid)
    .executeTakeFirst()
  return token?.expires_at ?? undefined
}

export function insertToken(
  db: Db,
  token: Insertable<PersonalAccessTokensTable>,
): Promise<PersonalAccessToken> {
  return db
    .insertInto('personal_access_tokens')
    .values(token)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Lists the tokens of an account with ids greater than `afterId`, in order of creation. */
export function listTokens(
  db: Db,
  userId: number,
  afterId: number,
  limit: number,
): Promise<PersonalAccessToken[]> {
  return selectTokens(db, userId).where('id', '>', afterId).orderBy('id').limit(limit).execute()
}

/** Lists the tokens of an account from an offset, in order of creation. */
export function listTokensFrom(
  db: Db,
  userId: number,
  offset: number,
  limit: number,
): Promise<PersonalAccessToken[]> {
  return selectTokens(db, userId).orderBy('id').limit(limit).offset(offset).execute()
}

/** Returns the token of an account with an id. */
export function findTokenById(
  db: Db,
  userId: number,
  id: number,
): Promise<PersonalAccessToken | undefined> {
  return selectTokens(db, userId).where('id', '=', id).executeTakeFirst()
}

/** Returns the token of an account with the UUID from its resource name. */
export function findTokenByUuid(
  db: Db,
  userId: number,
  uuid: string,
): Promise<PersonalAccessToken | undefined> {
  return selectTokens(db, userId).where('uuid', '=', uuid).executeTakeFirst()
}

/** Returns the tokens of an account with a description, at most `limit`. */
export function findTokensByDescription(
  db: Db,
  userId: number,
  description: string,
  limit: number,
): Promise<PersonalAccessToken[]> {
  return selectTokens(db, userId).where('description', '=', description).limit(limit).execute()
}

function selectTokens(db: Db, userId: number) {
  return db.selectFrom('personal_access_tokens').selectAll().where('user_id', '=', userId)
}

export async function countTokens(db: Db, userId: number): Promise<number> {
  const { count } = await db
    .selectFrom('personal_access_tokens')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

/** @returns whether the account had the token. */
export async function deleteToken(db: Db, userId: number, uuid: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('personal_access_tokens')
    .where('user_id', '=', userId)
    .where('uuid', '=', uuid)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/**
 * Records a use of a token unless a use after `staleUntil` is recorded. Times are Unix
 * milliseconds.
 */
export async function recordTokenUse(
  db: Db,
  id: number,
  usedAt: number,
  staleUntil: number,
): Promise<void> {
  await db
    .updateTable('personal_access_tokens')
    .set({ last_used_at: usedAt })
    .where('id', '=', id)
    .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<=', staleUntil)]))
    .execute()
}
