import { SignJWT } from 'jose'
import type { AccountsApp } from '../accounts/ports.ts'
import { nowSeconds } from '../core/core.ts'
import type { User } from '../core/schema.ts'
import { claimsOf } from './user-claims.ts'

const ID_TOKEN_LIFETIME_S = 60 * 60

/** About which sign-in an ID token is. */
export interface IdTokenSubject {
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
