import { randomUUID } from 'node:crypto'
import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import { findUserById } from '../users/users.rows.ts'
import type { Session } from './schema.ts'
import { type SessionClient, storedClient } from './session-clients.ts'
import {
  type RefreshTokenClaims,
  readAccessToken,
  readRefreshToken,
  signAccessToken,
  signRefreshToken,
} from './session-tokens.ts'
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
 * @throws BAD_CREDENTIALS if the password was changed or the account was archived or deleted since.
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
 *
 * @throws BAD_CREDENTIALS
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
 *
 * @throws BAD_CREDENTIALS
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
