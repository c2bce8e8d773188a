import type { Peer } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import { type PasswordCredentials, signInByPassword } from './credentials.ts'
import { expireSessionAt, findUserOfLiveSession } from './sessions.rows.ts'
import { endSession, readBrowserToken, type SessionGrant, signBrowserToken } from './sessions.ts'
import type { SecondFactor } from './two-factor.ts'

// The page that signs users in to applications keeps a browser signed in by a cookie. The session
// behind it is one like any other, which ends with a change of the password. The cookie is neither
// an access token nor a refresh token of it, and no API accepts it.

/** How long the page asks for no password. */
export const BROWSER_SESSION_LIFETIME_S = 12 * 60 * 60

/** The user who is signed in on the page. */
export interface BrowserSession {
  readonly user: User
  readonly sessionId: string
  /** When the user authenticated, in Unix seconds. */
  readonly signInTime: number
}

/** A session that has just started. */
export interface StartedBrowserSession {
  readonly session: BrowserSession
  /** The text of the cookie. */
  readonly cookie: string
}

/** Signs a browser in by password, and by a second factor if the account has one. */
export function signBrowserInByPassword(
  app: AccountsApp,
  peer: Peer,
  credentials: PasswordCredentials,
  factor: SecondFactor,
  userAgent: string,
): Promise<StartedBrowserSession> {
  return startBrowserSession(app, () => signInByPassword(app, peer, credentials, factor, userAgent))
}

/**
 * Starts the session of a browser.
 *
 * @param signIn authenticates the user.
 */
export async function startBrowserSession(
  app: AccountsApp,
  signIn: () => Promise<SessionGrant>,
): Promise<StartedBrowserSession> {
  const signInTime = nowSeconds(app.clock)
  const { user, sessionId } = await signIn()
  // Nobody has the refresh token, so that the session ends with its cookie.
  await expireSessionAt(app.db, sessionId, signInTime + BROWSER_SESSION_LIFETIME_S)
  const claims = {
    subject: String(user.id),
    sessionId,
    tokenVersion: user.token_version,
    signInTime,
  }
  return {
    session: { user, sessionId, signInTime },
    cookie: await signBrowserToken(app, claims, BROWSER_SESSION_LIFETIME_S),
  }
}

/** Returns the session of a cookie; undefined if it has ended. */
export async function findBrowserSession(
  app: AccountsApp,
  cookie: string,
): Promise<BrowserSession | undefined> {
  const claims = await readBrowserToken(app, cookie)
  if (!claims) return undefined
  const { sessionId, signInTime } = claims
  const user = await findUserOfLiveSession(app.db, sessionId, nowSeconds(app.clock))
  const isValid =
    user?.state === 'NORMAL' &&
    String(user.id) === claims.subject &&
    user.token_version === claims.tokenVersion
  return isValid ? { user, sessionId, signInTime } : undefined
}

/** Ends the session of a browser. */
export function endBrowserSession(app: AccountsApp, { sessionId }: BrowserSession): Promise<void> {
  return endSession(app, sessionId)
}
