import { findUserByNameKey } from '../../../storage/accounts/users.ts'
import type { User } from '../../../storage/schema/accounts.ts'
import type { Caller, Peer, SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { AccountsApp } from '../ports.ts'
import { authenticatePersonalAccessToken, looksLikeToken } from './personal-access-tokens.ts'
import { authenticateAccessToken, type SessionGrant, startSession } from './sessions.ts'
import { requireSecondFactor, type SecondFactor } from './two-factor.ts'

/**
 * What clients that know no passwordless Basic send beside a token in the place of the username.
 */
const TOKEN_ONLY_PASSWORD = 'x-oauth-basic'

/** A username, in any case, and a password. */
export interface PasswordCredentials {
  readonly username: string
  readonly password: string
}

/**
 * Starts a session by password, and by a second factor where the account has one.
 *
 * Whether an account exists, is archived, may sign in by password or has a second factor is told
 * only to those who know its password.
 *
 * @param userAgent of the client, kept with the session.
 * @throws BAD_CREDENTIALS, ACCOUNT_ARCHIVED, PASSWORD_SIGN_IN_CLOSED, TWO_FACTOR_REQUIRED,
 *   TWO_FACTOR_INVALID, RATE_LIMITED
 */
export async function signInByPassword(
  app: AccountsApp,
  peer: Peer,
  credentials: PasswordCredentials,
  factor: SecondFactor,
  userAgent: string,
): Promise<SessionGrant> {
  const user = await userByPassword(app, peer, credentials)
  if (user.state !== 'NORMAL') throw new DomainError('ACCOUNT_ARCHIVED')
  checkPasswordSignIn(app, user)
  await requireSecondFactor(app, user, factor, 'sign-in')
  return startSession(app, user, userAgent)
}

/**
 * The caller behind `Authorization: Bearer`: a personal access token, by its prefix, or an access
 * token.
 *
 * @throws BAD_CREDENTIALS
 */
export async function authenticateBearer(
  app: AccountsApp,
  peer: Peer,
  text: string,
): Promise<SignedIn> {
  if (looksLikeToken(text)) return authenticateToken(app, peer, text)
  const { user, sessionId } = await authenticateAccessToken(app, text)
  return { kind: 'user', peer, user, credential: { kind: 'session', sessionId } }
}

/**
 * The caller behind a personal access token.
 *
 * @throws BAD_CREDENTIALS
 */
export async function authenticateToken(
  app: AccountsApp,
  peer: Peer,
  text: string,
): Promise<SignedIn> {
  if (!looksLikeToken(text)) throw new DomainError('BAD_CREDENTIALS')
  const { user, uuid, scopes } = await authenticatePersonalAccessToken(app, text)
  return { kind: 'user', peer, user, credential: { kind: 'token', uuid, scopes } }
}

/**
 * The caller behind Basic authentication: a password; a token in its place, beside any username; or
 * a token in the place of the username.
 *
 * Where passwords are switched off for Basic they are ignored rather than refused, since proxies in
 * front of a server add such headers for themselves.
 *
 * @param passcode of the account's second factor, beside a password; empty for none. Recovery codes
 *   are not for programs, which would present them again and again.
 * @throws BAD_CREDENTIALS, PASSWORD_SIGN_IN_CLOSED, TWO_FACTOR_REQUIRED, TWO_FACTOR_INVALID,
 *   RATE_LIMITED
 */
export async function authenticateBasic(
  app: AccountsApp,
  peer: Peer,
  credentials: PasswordCredentials,
  passcode: string,
): Promise<Caller> {
  const { username, password } = credentials
  if (looksLikeToken(password)) return authenticateToken(app, peer, password)
  if (looksLikeToken(username) && (password === '' || password === TOKEN_ONLY_PASSWORD)) {
    return authenticateToken(app, peer, username)
  }
  if (!app.settings.basicPassword) return { kind: 'anonymous', peer }
  const user = await userByPassword(app, peer, credentials)
  if (user.state !== 'NORMAL') throw new DomainError('BAD_CREDENTIALS')
  checkPasswordSignIn(app, user)
  await requireSecondFactor(app, user, { passcode, recoveryCode: '' }, 'basic')
  return { kind: 'user', peer, user, credential: { kind: 'password' } }
}

/** The account, archived or not, that has a username and a password. */
async function userByPassword(
  app: AccountsApp,
  peer: Peer,
  { username, password }: PasswordCredentials,
): Promise<User> {
  const key = nameKey(username)
  const user = await app.guesses.attempt(key, peer.address, async () => {
    const found = await findUserByNameKey(app.db, key)
    // The name may be the chosen id of somebody's account, which is no name to sign in with.
    if (!found || nameKey(found.username) !== key) {
      await app.passwords.verifyNothing()
      return undefined
    }
    return (await app.passwords.verify(found.password_hash, password)) ? found : undefined
  })
  if (!user) throw new DomainError('BAD_CREDENTIALS')
  return user
}

function checkPasswordSignIn(app: AccountsApp, user: User): void {
  if (!app.settings.passwordSignIn && user.role !== 'ADMIN')
    throw new DomainError('PASSWORD_SIGN_IN_CLOSED')
}
