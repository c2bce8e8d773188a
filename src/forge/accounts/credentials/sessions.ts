import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { withoutInvisibleCharacters } from '../../core/invisible-characters.ts'
import type { User } from '../../core/schema.ts'
import type { AccessTokenClaims, AccountsApp, VerifiedToken } from '../ports.ts'
import type { Session } from '../schema.ts'
import { findUserById } from '../users/users.rows.ts'
import {
  countLiveSessions,
  deleteExpiredSessions,
  deleteLiveSession,
  deleteSession,
  deleteSessionsOfUser,
  deleteStalestSessions,
  findSession,
  findUserOfSession,
  insertSession,
  listLiveSessions,
  replaceSessionToken,
  type SessionKey,
} from './sessions.rows.ts'

export type { Session, SessionKey }

const REFRESH_TOKEN_LIFETIME_SECONDS = 30 * 24 * 60 * 60

/**
 * How long the previous refresh token remains usable, because the tabs of a browser refresh at the
 * same time.
 */
const GRACE_SECONDS = 30

/**
 * Maximum number of sessions of an account. Scripts that sign in repeatedly must not accumulate
 * rows.
 */
const MAX_SESSIONS_PER_USER = 100

/** A session with its tokens, as given to the client. */
export interface SessionGrant {
  readonly user: User
  readonly sessionId: string
  readonly accessToken: string
  /** Unix seconds. */
  readonly accessTokenExpireTime: number
  readonly refreshToken: string
  /** Unix seconds. */
  readonly refreshTokenExpireTime: number
}

/**
 * Starts a session for an account whose owner has just authenticated.
 *
 * @param user the row that the credentials were checked against.
 */
export async function startSession(
  app: AccountsApp,
  user: User,
  client: SessionClient,
): Promise<SessionGrant> {
  const now = nowSeconds(app.clock)
  const { userAgent, address } = storedClient(client)
  const session: Session = {
    id: randomUUID(),
    user_id: user.id,
    previous_token_id: null,
    create_time: now,
    user_agent: userAgent,
    address,
    confirm_time: 0,
    ...newRefreshToken(now),
  }
  await transaction(app.db, async (tx) => {
    const present = await findUserById(tx, user.id)
    if (present?.state !== 'NORMAL' || present.token_version !== user.token_version) {
      throw new DomainError('BAD_CREDENTIALS')
    }
    await deleteExpiredSessions(tx, now)
    await deleteStalestSessions(tx, user.id, MAX_SESSIONS_PER_USER - 1)
    await insertSession(tx, session)
  })
  return grant(app, user, session)
}

/**
 * Exchanges a refresh token for its successor.
 *
 * For a short time, the previous token returns the current one. Any other token of the session is a
 * reuse, which means that two parties have the session. The session therefore ends (RFC 9700
 * section 4.14.2).
 */
export async function refreshSession(
  app: AccountsApp,
  refreshToken: string,
): Promise<SessionGrant> {
  const claims = await readRefreshToken(app, refreshToken)
  // The error is thrown outside the transaction, which would otherwise roll back the end of the
  // session.
  const refreshed = claims && (await transaction(app.db, (tx) => advance(app, tx, claims)))
  if (!refreshed) throw new DomainError('BAD_CREDENTIALS')
  return grant(app, refreshed.user, refreshed.session)
}

async function advance(
  app: AccountsApp,
  tx: Tx,
  claims: RefreshTokenClaims,
): Promise<{ user: User; session: Session } | undefined> {
  const user = await findUserOfSession(tx, claims.sessionId)
  if (user?.state !== 'NORMAL' || String(user.id) !== claims.subject) return undefined
  const now = nowSeconds(app.clock)
  const replaced = await replaceSessionToken(
    tx,
    claims.sessionId,
    claims.tokenId,
    newRefreshToken(now),
  )
  const session = replaced ?? (await findSession(tx, claims.sessionId))
  if (!session) return undefined
  const superseded =
    session.previous_token_id === claims.tokenId && now - session.token_issued_at <= GRACE_SECONDS
  if (replaced || superseded) return { user, session }
  app.log.warn(
    { userId: user.id, sessionId: session.id },
    'a refresh token was used again; its session was ended',
  )
  await deleteSession(tx, session.id)
  return undefined
}

function newRefreshToken(
  now: number,
): Pick<Session, 'token_id' | 'token_issued_at' | 'expire_time'> {
  return {
    token_id: randomUUID(),
    token_issued_at: now,
    expire_time: now + REFRESH_TOKEN_LIFETIME_SECONDS,
  }
}

async function grant(app: AccountsApp, user: User, session: Session): Promise<SessionGrant> {
  const accessToken = await signAccessToken(app, user, session.id)
  return {
    user,
    sessionId: session.id,
    accessToken: accessToken.text,
    accessTokenExpireTime: accessToken.expireTime,
    refreshToken: await signRefreshToken(app, session),
    refreshTokenExpireTime: session.expire_time,
  }
}

/**
 * Returns the account and session of an access token, and its expiry in Unix seconds.
 *
 * The session must still exist, so that signing out revokes its access tokens immediately. The
 * account must have the token version of the access token.
 */
export async function authenticateAccessToken(
  app: AccountsApp,
  text: string,
): Promise<{ user: User; sessionId: string; expireTime: number }> {
  const token = await readAccessToken(app, text)
  const user = token && (await findUserOfSession(app.db, token.claims.sessionId))
  if (
    user?.state !== 'NORMAL' ||
    String(user.id) !== token?.claims.subject ||
    user.token_version !== token.claims.tokenVersion
  ) {
    throw new DomainError('BAD_CREDENTIALS')
  }
  return { user, sessionId: token.claims.sessionId, expireTime: token.expireTime }
}

/**
 * Returns the id of the session that a refresh token belongs to, even if the session has ended;
 * undefined for an invalid token.
 */
export async function sessionOfRefreshToken(
  app: AccountsApp,
  refreshToken: string,
): Promise<string | undefined> {
  return (await readRefreshToken(app, refreshToken))?.sessionId
}

/**
 * Lists a page of the sessions of an account that have not expired, latest sign-in first.
 *
 * @param after creation time and id of the last session of the previous page.
 */
export async function listSessions(
  app: AccountsApp,
  owner: Pick<User, 'id'>,
  after: SessionKey | undefined,
  pageSize: number,
): Promise<{ sessions: readonly Session[]; more: boolean; total: number }> {
  const now = nowSeconds(app.clock)
  const found = await listLiveSessions(app.db, { userId: owner.id, now, after }, pageSize + 1)
  const total = await countLiveSessions(app.db, owner.id, now)
  return { sessions: found.slice(0, pageSize), more: found.length > pageSize, total }
}

/**
 * Ends a session of an account and revokes its tokens.
 *
 * @returns whether the account had the session.
 */
export async function endSessionOf(
  app: AccountsApp,
  owner: Pick<User, 'id'>,
  sessionId: string,
): Promise<boolean> {
  return deleteLiveSession(app.db, owner.id, sessionId, nowSeconds(app.clock))
}

/** Ends a session and revokes its tokens. A session that has already ended is not an error. */
export function endSession(app: AccountsApp, sessionId: string): Promise<void> {
  return deleteSession(app.db, sessionId)
}

/**
 * Ends the sessions of an account and revokes their tokens.
 *
 * The access tokens of the remaining session are revoked if the caller increases `token_version` in
 * the same transaction.
 *
 * @param exceptSessionId the session that remains, if any.
 */
export function endOtherSessions(tx: Tx, userId: number, exceptSessionId?: string): Promise<void> {
  return deleteSessionsOfUser(tx, userId, exceptSessionId)
}

/** The client that signs in, as its session describes it. */
export interface SessionClient {
  /** The header `User-Agent`; empty if there is none. */
  readonly userAgent: string
  /** The address of the peer, which is no IP address on a Unix socket. */
  readonly address: string
}

/** Real texts are shorter. A client must not fill the database. */
const MAX_USER_AGENT_CHARACTERS = 256

/** Returns what a session stores of a client: a short text to show, and an IP address or nothing. */
function storedClient({ userAgent, address }: SessionClient): SessionClient {
  return {
    userAgent: withoutInvisibleCharacters(userAgent.slice(0, MAX_USER_AGENT_CHARACTERS)).trim(),
    address: isIP(address) === 0 ? '' : address,
  }
}

const ISSUER = 'branchline'

/** The kinds of token. They share a key and must never be accepted for each other. */
const AUDIENCE = {
  access: 'user.access-token',
  refresh: 'user.refresh-token',
  browser: 'user.browser-session',
} as const

const ACCESS_TOKEN_LIFETIME_SECONDS = 15 * 60

/** The claims of a refresh token. */
interface RefreshTokenClaims {
  readonly subject: string
  readonly sessionId: string
  readonly tokenId: string
}

/**
 * Creates an access token.
 *
 * @returns its text, and its expiry in Unix seconds.
 */
async function signAccessToken(
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
function signRefreshToken(app: AccountsApp, session: Session): Promise<string> {
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
async function readAccessToken(app: AccountsApp, text: string): Promise<VerifiedToken | undefined> {
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
async function readRefreshToken(
  app: AccountsApp,
  text: string,
): Promise<RefreshTokenClaims | undefined> {
  const { sub, sid, tid } = (await read(app, 'refresh', text)) ?? {}
  if (sub === undefined || typeof sid !== 'string' || typeof tid !== 'string') return undefined
  return { subject: sub, sessionId: sid, tokenId: tid }
}

/** The claims of the cookie that keeps a browser signed in on the sign-in page. */
interface BrowserClaims extends AccessTokenClaims {
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
