import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { Session } from '../../storage/sessions.ts'
import type { User } from '../../storage/users.ts'
import { type App, nowSeconds } from '../app.ts'

const ISSUER = 'branchline'

/** The two kinds of token, which share a key and must never pass for each other. */
const AUDIENCE = { access: 'user.access-token', refresh: 'user.refresh-token' } as const

const ACCESS_TOKEN_LIFETIME_SECONDS = 15 * 60

/** What an access token says. Role, state and name are in it too, for clients; the server asks its rows instead. */
export interface AccessTokenClaims {
  /** Internal id of the user, as text. */
  readonly subject: string
  readonly sessionId: string
  readonly tokenVersion: number
}

/** What a refresh token says. */
export interface RefreshTokenClaims {
  readonly subject: string
  readonly sessionId: string
  readonly tokenId: string
}

/** @returns the text of a new access token, and its expiry in Unix seconds. */
export async function signAccessToken(
  app: App,
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
  }
  return { text: await sign(app, 'access', claims, user.id, issueTime, expireTime), expireTime }
}

/** @returns the text of a session's current refresh token: the same one each time, since the signature adds no chance. */
export function signRefreshToken(app: App, session: Session): Promise<string> {
  const claims = { type: 'refresh', tid: session.token_id, sid: session.id }
  return sign(app, 'refresh', claims, session.user_id, session.token_issued_at, session.expire_time)
}

/** What an access token says; undefined when it is not ours, not an access token, or expired. */
export async function readAccessToken(app: App, text: string): Promise<AccessTokenClaims | undefined> {
  const { sub, sid, ver } = (await read(app, 'access', text)) ?? {}
  if (sub === undefined || typeof sid !== 'string' || typeof ver !== 'number') return undefined
  return { subject: sub, sessionId: sid, tokenVersion: ver }
}

/** What a refresh token says; undefined when it is not ours, not a refresh token, or expired. */
export async function readRefreshToken(app: App, text: string): Promise<RefreshTokenClaims | undefined> {
  const { sub, sid, tid } = (await read(app, 'refresh', text)) ?? {}
  if (sub === undefined || typeof sid !== 'string' || typeof tid !== 'string') return undefined
  return { subject: sub, sessionId: sid, tokenId: tid }
}

function sign(
  app: App,
  kind: keyof typeof AUDIENCE,
  claims: JWTPayload,
  userId: number,
  issueTime: number,
  expireTime: number,
): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: app.keys.id })
    .setIssuer(ISSUER)
    .setAudience([AUDIENCE[kind]])
    .setSubject(String(userId))
    .setIssuedAt(issueTime)
    .setExpirationTime(expireTime)
    .sign(app.keys.tokenKey)
}

async function read(app: App, kind: keyof typeof AUDIENCE, text: string): Promise<JWTPayload | undefined> {
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
