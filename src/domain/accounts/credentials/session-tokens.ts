import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { Session, User } from '../../../storage/schema/accounts.ts'
import { nowSeconds } from '../../core/core.ts'
import type { AccessTokenClaims, AccountsApp } from '../ports.ts'

const ISSUER = 'branchline'

/** The two kinds of token, which share a key and must never pass for each other. */
const AUDIENCE = { access: 'user.access-token', refresh: 'user.refresh-token' } as const

const ACCESS_TOKEN_LIFETIME_SECONDS = 15 * 60

/** What a refresh token says. */
export interface RefreshTokenClaims {
  readonly subject: string
  readonly sessionId: string
  readonly tokenId: string
}

/** @returns the text of a new access token, and its expiry in Unix seconds. */
export async function signAccessToken(
  app: AccountsApp,
  user: User,
  sessionId: string,
): Promise<{ text: string; expireTime: number }> {
  const issueTime = nowSeconds(app.clock)
  const expireTime = issueTime + ACCESS_TOKEN_LIFETIME_SECONDS
  const claims = {
    type: 'access',
    role: user.role,
    status: user.state,
    username: user.username,
    ver: user.token_version,
    sid: sessionId,
    sub: String(user.id),
    iat: issueTime,
    exp: expireTime,
  }
  return { text: await sign(app, 'access', claims), expireTime }
}

/**
 * @returns the text of a session's current refresh token: the same one each time, since the
 *   signature adds no chance.
 */
export function signRefreshToken(app: AccountsApp, session: Session): Promise<string> {
  return sign(app, 'refresh', {
    type: 'refresh',
    tid: session.token_id,
    sid: session.id,
    sub: String(session.user_id),
    iat: session.token_issued_at,
    exp: session.expire_time,
  })
}

/**
 * What an access token says; undefined when it is not ours, not an access token, or expired.
 *
 * Whether the session behind it still stands is for the caller to ask, of rows, on every call.
 */
export async function readAccessToken(
  app: AccountsApp,
  text: string,
): Promise<AccessTokenClaims | undefined> {
  const known = app.keys.verifiedTokens.get(text)
  if (known && known.expireTime > nowSeconds(app.clock)) return known.claims
  const { sub, sid, ver, exp } = (await read(app, 'access', text)) ?? {}
  if (sub === undefined || exp === undefined || typeof sid !== 'string' || typeof ver !== 'number')
    return undefined
  const claims = { subject: sub, sessionId: sid, tokenVersion: ver }
  app.keys.verifiedTokens.set(text, { claims, expireTime: exp })
  return claims
}

/** What a refresh token says; undefined when it is not ours, not a refresh token, or expired. */
export async function readRefreshToken(
  app: AccountsApp,
  text: string,
): Promise<RefreshTokenClaims | undefined> {
  const { sub, sid, tid } = (await read(app, 'refresh', text)) ?? {}
  if (sub === undefined || typeof sid !== 'string' || typeof tid !== 'string') return undefined
  return { subject: sub, sessionId: sid, tokenId: tid }
}

function sign(app: AccountsApp, kind: keyof typeof AUDIENCE, claims: JWTPayload): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: app.keys.id })
    .setIssuer(ISSUER)
    .setAudience([AUDIENCE[kind]])
    .sign(app.keys.tokenKey)
}

async function read(
  app: AccountsApp,
  kind: keyof typeof AUDIENCE,
  text: string,
): Promise<JWTPayload | undefined> {
  try {
    const { payload, protectedHeader } = await jwtVerify(text, app.keys.tokenKey, {
      // Named, so that a token cannot choose how it is verified (RFC 8725 section 3.1).
      algorithms: ['HS256'],
      typ: 'JWT',
      issuer: ISSUER,
      audience: AUDIENCE[kind],
      requiredClaims: ['sub', 'exp'],
      currentDate: new Date(app.clock.now()),
    })
    return protectedHeader.kid === app.keys.id && payload.type === kind ? payload : undefined
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined
    throw error
  }
}
