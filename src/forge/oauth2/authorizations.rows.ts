import { prepareFirst } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import { findUserById } from '../accounts/users/users.rows.ts'
import type { User } from '../core/schema.ts'
import type { OAuth2AccessToken, OAuth2Authorization } from './schema.ts'

/** An authorization, and the user and the application of its grant. */
export interface GrantedAuthorization extends OAuth2Authorization {
  readonly user_id: number
  readonly application_id: number
}

/** An access token, its authorization, and the user and the application of its grant. */
interface GrantedToken extends OAuth2AccessToken {
  readonly user_id: number
  readonly application_id: number
}

const tokenByHash = prepareFirst((db, hash: string) =>
  db
    .selectFrom('oauth2_access_tokens as token')
    .innerJoin('oauth2_authorizations as auth', 'auth.id', 'token.authorization_id')
    .innerJoin('oauth2_grants as grant', 'grant.id', 'auth.grant_id')
    .selectAll('token')
    .select(['grant.user_id', 'grant.application_id'])
    .where('token.token_hash', '=', hash),
)

/** Returns an access token and the account that it acts for, whether or not the token is expired. */
export async function findAccessToken(
  db: Db,
  hash: string,
): Promise<{ token: GrantedToken; owner: User } | undefined> {
  const token = await tokenByHash(db, hash)
  const owner = token && (await findUserById(db, token.user_id))
  return owner && { token, owner }
}

/**
 * Returns the account of an authorization; undefined if it was deleted or has expired. `now` is in
 * Unix seconds.
 */
export const findOwnerOfAuthorization = prepareFirst((db, id: string, now: number) =>
  db
    .selectFrom('oauth2_authorizations as auth')
    .innerJoin('oauth2_grants as grant', 'grant.id', 'auth.grant_id')
    .innerJoin('users', 'users.id', 'grant.user_id')
    .selectAll('users')
    .where('auth.id', '=', id)
    .where('auth.expire_time', '>', now),
)

/** Returns the authorization with a code. */
export function findByCode(db: Db, codeHash: string): Promise<GrantedAuthorization | undefined> {
  return authorizations(db).where('auth.code_hash', '=', codeHash).executeTakeFirst()
}

export function findAuthorization(db: Db, id: string): Promise<GrantedAuthorization | undefined> {
  return authorizations(db).where('auth.id', '=', id).executeTakeFirst()
}

/** Returns the ids of the authorizations of a grant. */
export async function listAuthorizationIds(
  db: Db,
  by: { readonly grantId: number } | { readonly applicationId: number },
): Promise<{ id: string; user_id: number }[]> {
  return db
    .selectFrom('oauth2_authorizations as auth')
    .innerJoin('oauth2_grants as grant', 'grant.id', 'auth.grant_id')
    .select(['auth.id', 'grant.user_id'])
    .$if('grantId' in by, (query) => query.where('grant.id', '=', 'grantId' in by ? by.grantId : 0))
    .$if('applicationId' in by, (query) =>
      query.where('grant.application_id', '=', 'applicationId' in by ? by.applicationId : 0),
    )
    .execute()
}

export async function insertAuthorization(
  tx: Tx,
  authorization: OAuth2Authorization,
): Promise<void> {
  await tx.insertInto('oauth2_authorizations').values(authorization).execute()
}

/** Sets the refresh token of an authorization. */
export async function replaceRefreshToken(
  tx: Tx,
  id: string,
  next: Pick<
    OAuth2Authorization,
    'refresh_hash' | 'previous_refresh_hash' | 'refresh_time' | 'expire_time'
  >,
): Promise<void> {
  await tx.updateTable('oauth2_authorizations').set(next).where('id', '=', id).execute()
}

export async function insertAccessToken(tx: Tx, token: OAuth2AccessToken): Promise<void> {
  await tx.insertInto('oauth2_access_tokens').values(token).execute()
}

/** Deletes the access tokens of an authorization except the `keep` newest. */
export async function deleteOldAccessTokens(
  tx: Tx,
  authorizationId: string,
  keep: number,
): Promise<void> {
  await tx
    .deleteFrom('oauth2_access_tokens')
    .where('authorization_id', '=', authorizationId)
    .where('token_hash', 'not in', (query) =>
      query
        .selectFrom('oauth2_access_tokens')
        .select('token_hash')
        .where('authorization_id', '=', authorizationId)
        .orderBy('expire_time', 'desc')
        .orderBy('token_hash')
        .limit(keep),
    )
    .execute()
}

export async function deleteAccessToken(tx: Tx, hash: string): Promise<void> {
  await tx.deleteFrom('oauth2_access_tokens').where('token_hash', '=', hash).execute()
}

/** Deletes an authorization with its tokens. */
export async function deleteAuthorization(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('oauth2_authorizations').where('id', '=', id).execute()
}

/** Deletes the authorizations that expired up to a time in Unix seconds. */
export async function deleteExpiredAuthorizations(tx: Tx, now: number): Promise<void> {
  await tx.deleteFrom('oauth2_authorizations').where('expire_time', '<=', now).execute()
}

/** Deletes the authorizations of a grant except the `keep` that expire last. */
export async function deleteStalestAuthorizations(
  tx: Tx,
  grantId: number,
  keep: number,
): Promise<void> {
  await tx
    .deleteFrom('oauth2_authorizations')
    .where('grant_id', '=', grantId)
    .where('id', 'not in', (query) =>
      query
        .selectFrom('oauth2_authorizations')
        .select('id')
        .where('grant_id', '=', grantId)
        .orderBy('expire_time', 'desc')
        .orderBy('id')
        .limit(keep),
    )
    .execute()
}

function authorizations(db: Db) {
  return db
    .selectFrom('oauth2_authorizations as auth')
    .innerJoin('oauth2_grants as grant', 'grant.id', 'auth.grant_id')
    .selectAll('auth')
    .select(['grant.user_id', 'grant.application_id'])
}

/**
 * Returns the names of the organisations of a user, and their teams that the user is in, as
 * `organisation:team`. They have the form that compatible systems give them.
 */
export async function listGroupsOfUser(db: Db, userId: number): Promise<string[]> {
  const organizations = await db
    .selectFrom('organization_members as member')
    .innerJoin('organizations', 'organizations.id', 'member.organization_id')
    .select('organizations.name')
    .where('member.user_id', '=', userId)
    .orderBy('organizations.name_key')
    .execute()
  const teams = await db
    .selectFrom('team_members as member')
    .innerJoin('teams', 'teams.id', 'member.team_id')
    .innerJoin('organizations', 'organizations.id', 'teams.organization_id')
    .select(['organizations.name', 'teams.name as team'])
    .where('member.user_id', '=', userId)
    .orderBy('organizations.name_key')
    .orderBy('teams.id')
    .execute()
  return [
    ...organizations.map(({ name }) => name),
    ...teams.map(({ name, team }) => `${name}:${team.toLowerCase()}`),
  ]
}
