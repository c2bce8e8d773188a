import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { nowSeconds } from '../../core/core.ts'
import type { User } from '../../core/schema.ts'
import type { AccessTokenClaims, AccountsApp, VerifiedToken } from '../ports.ts'
import type { Session } from './schema.ts'

const ISSUER = 'branchline'

/** The kinds of token. They share a key and must never be accepted for each other. */
const AUDIENCE = {
  access: 'user.access-token',
  refresh: 'user.refresh-token',
  browser: 'user.browser-session',
} as const

const ACCESS_TOKEN_LIFETIME_SECONDS = 15 * 60

/** The claims of a refresh token. */
export interface RefreshTokenClaims {
  readonly subject: string
  readonly sessionId: string
  readonly tokenId: string
}

/**
 * Creates an access token.
 *
 * @returns its text, and its expiry in Unix seconds.
 */
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
 * Returns the current refresh token of a session. Repeated calls return the same text because the
 * signature is deterministic.
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
 * Returns the claims and the expiry of an access token; undefined if the text is not a valid access
 * token of this server.
 *
 * The caller must check on every call that the session still exists.
 */
export async function readAccessToken(
  app: AccountsApp,
  text: string,
): Promise<VerifiedToken | undefined> {
  const known = app.keys.verifiedTokens.get(text)
  if (known && known.expireTime > nowSeconds(app.clock)) return known
  const { sub, sid, ver, exp } = (await read(app, 'access', text)) ?? {}
  if (sub === undefined || exp === undefined || typeof sid !== 'string' || typeof ver !== 'number')
    return undefined
  const token = {
    claims: { subject: sub, sessionId: sid, tokenVersion: ver },
    expireTime: exp,
  }
  app.keys.verifiedTokens.set(text, token)
  return token
}

/**
 * Returns the claims of a refresh token; undefined if the text is not a valid refresh token of this
 * server.
 */
export async function readRefreshToken(
  app: AccountsApp,
  text: string,
): Promise<RefreshTokenClaims | undefined> {
  const { sub, sid, tid } = (await read(app, 'refresh', text)) ?? {}
  if (sub === undefined || typeof sid !== 'string' || typeof tid !== 'string') return undefined
  return { subject: sub, sessionId: sid, tokenId: tid }
}

/** The claims of the cookie that keeps a browser signed in on the sign-in page. */
export interface BrowserClaims extends AccessTokenClaims {
  /** Unix seconds. */
  readonly signInTime: number
}

/** Returns the text of the cookie that keeps a browser signed in on the sign-in page. */
export function signBrowserToken(
  app: AccountsApp,
  { subject, sessionId, tokenVersion, signInTime }: BrowserClaims,
  lifetimeS: number,
): Promise<string> {
  return sign(app, 'browser', {
    type: 'browser',
    ver: tokenVersion,
    sid: sessionId,
    sub: subject,
    iat: signInTime,
    exp: signInTime + lifetimeS,
  })
}

/** Returns the claims of such a cookie; undefined if the text is not one of this server. */
export async function readBrowserToken(
  app: AccountsApp,
  text: string,
): Promise<BrowserClaims | undefined> {
  const { sub, sid, ver, iat } = (await read(app, 'browser', text)) ?? {}
  const isComplete = sub !== undefined && typeof sid === 'string' && typeof ver === 'number'
  if (!isComplete || iat === undefined) return undefined
  return { subject: sub, sessionId: sid, tokenVersion: ver, signInTime: iat }
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
      // Fixed, so that a token cannot choose how it is verified (RFC 8725 section 3.1).
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
