import { hash } from 'node:crypto'
import { type Caller, holderOf, type Peer, type SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp, VerifiedCaller } from '../ports.ts'
import { findUserByUsername } from '../users/owners.ts'
import { authenticateDelegatedToken, looksLikeDelegatedToken } from './delegated-tokens.ts'
import {
  authenticatePersonalAccessToken,
  looksLikePersonalAccessToken,
} from './personal-access-tokens.ts'
import { authenticateAccessToken, type SessionGrant, startSession } from './sessions.ts'
import { requireSecondFactor, type SecondFactor } from './two-factor.ts'

/** The password that some clients send when the username is a token. */
const TOKEN_ONLY_PASSWORD = 'x-oauth-basic'

/** A username, compared case-insensitively, and a password. */
export interface PasswordCredentials {
  readonly username: string
  readonly password: string
}

/**
 * Starts a session by password, and by a second factor if the account has one.
 *
 * Only a caller who knows the password learns whether the account exists, is archived, may sign in
 * by password or has a second factor.
 *
 * @param userAgent of the client, stored with the session.
 * @throws TWO_FACTOR_INVALID
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
  return startSession(app, user, { userAgent, address: peer.address })
}

/**
 * Returns the caller of `Authorization: Bearer` if the token was verified in this state of the
 * database, otherwise undefined.
 */
export function knownBearer(app: AccountsApp, peer: Peer, text: string): SignedIn | undefined {
  return knownCaller(app, peer, keyOf(peer, text))
}

/** Returns whether a text has the form of a token that is stored by its hash. */
function looksLikeToken(text: string): boolean {
  return looksLikePersonalAccessToken(text) || looksLikeDelegatedToken(text)
}

/**
 * Authenticates `Authorization: Bearer`, which carries a personal access token or a token of an
 * application, recognised by their prefixes, or an access token of a session.
 *
 * @returns the caller, as a promise unless the token was verified in this state of the database.
 */
export function authenticateBearer(
  app: AccountsApp,
  peer: Peer,
  text: string,
): SignedIn | Promise<SignedIn> {
  if (looksLikeToken(text)) return authenticateToken(app, peer, text)
  return verifyOnce(app, peer, keyOf(peer, text), async () => {
    const { user, sessionId, expireTime } = await authenticateAccessToken(app, text)
    return { user, credential: { kind: 'session', sessionId }, verifyAgainAt: expireTime * 1000 }
  })
}

/**
 * Authenticates a personal access token or a token of an application.
 *
 * @returns the caller, as a promise unless the token was verified in this state of the database.
 */
export function authenticateToken(
  app: AccountsApp,
  peer: Peer,
  text: string,
): SignedIn | Promise<SignedIn> {
  if (!looksLikeToken(text)) throw new DomainError('BAD_CREDENTIALS')
  return verifyOnce(app, peer, keyOf(peer, text), async () => {
    if (looksLikeDelegatedToken(text)) return authenticateDelegatedToken(app, text)
    const { user, uuid, scopes, verifyAgainAt } = await authenticatePersonalAccessToken(app, text)
    return { user, credential: { kind: 'token', uuid, scopes }, verifyAgainAt }
  })
}

/**
 * Verifies a token unless it was verified in this state of the database.
 *
 * @param key identifies the token.
 */
function verifyOnce(
  app: AccountsApp,
  peer: Peer,
  key: string,
  verify: () => Promise<VerifiedCaller>,
): SignedIn | Promise<SignedIn> {
  const known = knownCaller(app, peer, key)
  if (known) return known
  return app.keys.verifiedCallers
    .read(app.db, key, verify, (verified) => isValid(app, verified))
    .then((verified) => callerBy(verified, peer))
}

function knownCaller(app: AccountsApp, peer: Peer, key: string): SignedIn | undefined {
  const known = app.keys.verifiedCallers.get(app.db, key)
  return known && isValid(app, known) ? callerBy(known, peer) : undefined
}

function isValid({ clock }: AccountsApp, { verifyAgainAt }: VerifiedCaller): boolean {
  return clock.now() < verifyAgainAt
}

/** The maximum length of a token that a peer keeps. Tokens of this server are shorter. */
const MAX_KEPT_CHARACTERS = 128

const LAST_TOKEN = Symbol('last token')

/**
 * A peer with the token that it sent last, and its hash. A peer that keeps its connection sends the
 * same token with each request. It is a symbol, so that no log prints it.
 */
interface TokenSender {
  [LAST_TOKEN]?: { readonly text: string; readonly hash: string }
}

/**
 * Returns the key of a verified token.
 *
 * The text of an access token, which expires within minutes, is its key. With the text of a personal
 * access token as the key, the process would keep tokens whose clients are gone.
 */
function keyOf(peer: Peer & TokenSender, text: string): string {
  if (!looksLikeToken(text)) return text
  const last = peer[LAST_TOKEN]
  if (last?.text === text) return last.hash
  const key = hash('sha256', text)
  if (text.length <= MAX_KEPT_CHARACTERS) peer[LAST_TOKEN] = { text, hash: key }
  return key
}

function callerBy({ user, credential }: VerifiedCaller, peer: Peer): SignedIn {
  return { kind: 'user', peer, user, credential }
}

/**
 * Authenticates `Authorization: Basic`. A token may replace the password, with any username, or the
 * username.
 *
 * If passwords are disabled for Basic, they are ignored instead of refused, because proxies in
 * front of a server add such headers.
 *
 * @param passcode second factor beside a password; empty for none. Recovery codes are not accepted,
 *   because programs would send them repeatedly.
 * @throws TWO_FACTOR_INVALID
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

/** Returns the account, archived or not, that has this username and password. */
async function userByPassword(
  app: AccountsApp,
  peer: Peer,
  { username, password }: PasswordCredentials,
): Promise<User> {
  // The account is not proved yet.
  const holder = holderOf({ kind: 'anonymous', peer })
  const user = await app.guesses.attempt(nameKey(username), peer.address, async () => {
    const found = await findUserByUsername(app.db, username)
    if (!found) {
      await app.passwords.verifyNothing(holder)
      return undefined
    }
    const isRight = await app.passwords.verify(found.password_hash, password, holder)
    return isRight ? found : undefined
  })
  if (!user) throw new DomainError('BAD_CREDENTIALS')
  return user
}

function checkPasswordSignIn(app: AccountsApp, user: User): void {
  if (!app.settings.passwordSignIn && user.role !== 'ADMIN')
    throw new DomainError('PASSWORD_SIGN_IN_CLOSED')
}
