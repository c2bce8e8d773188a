import { SignJWT } from 'jose'
import { looksLikeDelegatedToken } from '../accounts/credentials/delegated-tokens.ts'
import { tokenHash } from '../accounts/credentials/token-texts.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { UPLOADED } from '../accounts/users/avatars.ts'
import { userResourceName } from '../accounts/users/users.ts'
import { nowSeconds } from '../core/core.ts'
import type { User } from '../core/schema.ts'
import { findAccessToken, listGroupsOfUser } from './authorizations.rows.ts'
import { OAuth2Refusal } from './refusals.ts'

/** Claims of OpenID Connect Core section 5.1, and `groups`. */
type UserClaims = Readonly<Record<string, string | number | boolean | readonly string[]>>

/**
 * Returns the claims about a user that scopes permit. `sub` is the id of the account, which never
 * changes and is never used again.
 */
async function claimsOf(
  app: AccountsApp,
  user: User,
  scopes: readonly string[],
): Promise<UserClaims> {
  const permits = (scope: string) => scopes.includes(scope)
  return {
    sub: String(user.id),
    ...(permits('profile') && profileOf(app, user)),
    // Nobody has verified the address: an application must not take it as a proof of identity.
    ...(permits('email') && user.email !== '' && { email: user.email, email_verified: false }),
    ...(permits('groups') && { groups: await listGroupsOfUser(app.db, user.id) }),
  }
}

function profileOf(app: AccountsApp, user: User): UserClaims {
  const picture =
    user.avatar_url === UPLOADED
      ? `${app.publicUrl()}/file/${userResourceName(user)}/avatar`
      : user.avatar_url
  return {
    name: user.display_name === '' ? user.username : user.display_name,
    preferred_username: user.username,
    ...(picture !== '' && { picture }),
    updated_at: user.update_time,
  }
}

/** Scopes of the API with which a token reads the account anyway. */
const READS_ACCOUNT: readonly string[] = ['all', 'read:user', 'write:user']

/**
 * Returns the claims about the user of an access token (OpenID Connect Core section 5.3). A token
 * that may read the account by the API gets the profile and the address too, as clients of
 * compatible systems expect.
 *
 * @throws OAuth2Refusal invalid_token, insufficient_scope
 */
export async function readUserInfo(app: AccountsApp, accessToken: string): Promise<UserClaims> {
  const found = looksLikeDelegatedToken(accessToken)
    ? await findAccessToken(app.db, tokenHash(accessToken))
    : undefined
  if (found?.owner.state !== 'NORMAL' || found.token.expire_time <= nowSeconds(app.clock))
    throw new OAuth2Refusal('invalid_token', 'the access token is wrong, expired or revoked')
  const scopes = found.token.scopes.split(' ')
  const readsAccount = scopes.some((scope) => READS_ACCOUNT.includes(scope))
  if (!readsAccount && !scopes.includes('openid'))
    throw new OAuth2Refusal('insufficient_scope', 'the access token needs the scope openid')
  const isPublicOnly = scopes.includes('public-only')
  const implied = readsAccount && !isPublicOnly ? ['profile', 'email'] : []
  return claimsOf(app, found.owner, [...scopes, ...implied])
}

const ID_TOKEN_LIFETIME_S = 60 * 60

/** About which sign-in an ID token is. */
interface IdTokenSubject {
  /** The client id of the application. */
  readonly audience: string
  readonly scopes: readonly string[]
  readonly nonce: string | null
  /** Unix seconds. */
  readonly signInTime: number
}

/** Returns an ID token (OpenID Connect Core section 2). */
export async function signIdToken(
  app: AccountsApp,
  user: User,
  { audience, scopes, nonce, signInTime }: IdTokenSubject,
): Promise<string> {
  const { privateKey, publicJwk } = await app.keys.idTokenKey()
  const now = nowSeconds(app.clock)
  return new SignJWT({
    ...(await claimsOf(app, user, scopes)),
    ...(nonce !== null && { nonce }),
    auth_time: signInTime,
    iat: now,
    exp: now + ID_TOKEN_LIFETIME_S,
  })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: publicJwk.kid })
    .setIssuer(app.publicUrl())
    .setAudience(audience)
    .sign(privateKey)
}
