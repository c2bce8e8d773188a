import { randomUUID } from 'node:crypto'
import { peerHolder } from '../../../platform/concurrency/holders.ts'
import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { Peer } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import { NO_PASSWORD } from '../credentials/passwords.ts'
import { type SessionGrant, startSession } from '../credentials/sessions.ts'
import type { AccountsApp, AuthorizationGrant } from '../ports.ts'
import { isAvatarUrl } from '../users/avatars.ts'
import { findUserByUsername } from '../users/owners.ts'
import { emailKey, isEmail, isUsername, MAX_DISPLAY_NAME_CHARACTERS } from '../users/user-fields.ts'
import * as rows from '../users/users.rows.ts'
import { anyUserExists, findNameHolder } from '../users/users.rows.ts'
import { namesOf } from '../users/users.ts'
import { findUserByIdentity, insertLinkedIdentity } from './identity-providers.rows.ts'
import { requirePresentProvider } from './identity-providers.ts'
import { type ExternalIdentity, identify } from './linked-identities.ts'

/**
 * Starts a session by single sign-on, in the account linked to the identity or in a new one.
 *
 * Requiring a second factor is up to the provider. An existing account is never linked because of
 * its name or address, since the provider does not prove who owns that account.
 *
 * @param client.userAgent stored with the session.
 * @param client.signal aborts the calls to the provider.
 */
export async function signInByIdentity(
  app: AccountsApp,
  peer: Peer,
  providerUid: string,
  grant: AuthorizationGrant,
  client: { readonly userAgent: string; readonly signal: AbortSignal },
): Promise<SessionGrant> {
  const identity = await identifyWithinLimits(app, peer, () =>
    identify(app, providerUid, { ...grant, holder: peerHolder(peer.network) }, client.signal),
  )
  let isNew = false
  const user = await transaction(app.db, async (tx) => {
    await requirePresentProvider(tx, identity.provider)
    const known = await findUserByIdentity(tx, identity.provider.id, identity.externUid)
    isNew = known === undefined
    return known ?? register(app, tx, identity)
  })
  if (isNew) app.signals.adoptions.notify()
  if (user.state !== 'NORMAL') throw new DomainError('ACCOUNT_ARCHIVED')
  return startSession(app, user, { userAgent: client.userAgent, address: peer.address })
}

/** Counts codes that the provider refuses as failed sign-ins of the peer. */
async function identifyWithinLimits(
  app: AccountsApp,
  peer: Peer,
  ask: () => Promise<ExternalIdentity>,
): Promise<ExternalIdentity> {
  let refusal: unknown
  const identity = await app.guesses.attemptCode(peer.address, () =>
    ask().catch((error: unknown) => {
      if (!(error instanceof DomainError) || error.reason !== 'CODE_REFUSED') throw error
      refusal = error
      return undefined
    }),
  )
  if (!identity) throw refusal
  return identity
}

async function register(app: AccountsApp, tx: Tx, identity: ExternalIdentity): Promise<User> {
  // The first account administers the instance. CreateUser requires that it is created on the
  // machine.
  const isOpen = app.settings.registration === 'open' && (await anyUserExists(tx))
  if (!isOpen) throw new DomainError('REGISTRATION_CLOSED')
  const { provider, externUid, displayName, email, avatarUrl } = identity
  const isNameFree =
    isUsername(externUid) && (await findNameHolder(tx, nameKey(externUid))) === undefined
  const user = await insertPasswordlessUser(app, tx, {
    username: isNameFree ? externUid : randomUUID(),
    role: 'USER',
    email,
    displayName: displayName === '' ? externUid : displayName,
    avatarUrl: isAvatarUrl(avatarUrl) ? avatarUrl : '',
  })
  await insertLinkedIdentity(tx, {
    user_id: user.id,
    provider_id: provider.id,
    extern_uid: externUid,
    adopt_time: app.clock.now(),
  })
  return user
}

/** A new account for a person whom another service has authenticated. */
interface PasswordlessUser extends Pick<User, 'username' | 'role'> {
  /** Ignored if invalid or taken. */
  readonly email: string
  /** Truncated if too long. */
  readonly displayName: string
  /** '' or an https URL. */
  readonly avatarUrl: string
}

/**
 * Creates an active account without a password. Profile values that do not fit are dropped or
 * truncated, because nobody could correct them.
 *
 * @param account the username must be valid and free.
 */
async function insertPasswordlessUser(
  app: AccountsApp,
  tx: Tx,
  account: PasswordlessUser,
): Promise<User> {
  const isAddressFree =
    isEmail(account.email) && !(await rows.emailTaken(tx, emailKey(account.email)))
  const email = isAddressFree ? account.email : ''
  const time = nowSeconds(app.clock)
  const user = await rows.insertUser(tx, {
    user_id: null,
    username: account.username,
    email,
    email_key: emailKey(email),
    display_name: [...account.displayName].slice(0, MAX_DISPLAY_NAME_CHARACTERS).join(''),
    avatar_url: account.avatarUrl,
    description: '',
    password_hash: NO_PASSWORD,
    role: account.role,
    state: 'NORMAL',
    create_time: time,
    update_time: time,
  })
  await rows.claimNames(tx, user.id, namesOf(user))
  return user
}

/** The user that a trusted reverse proxy names. */
export interface ProxyIdentity {
  readonly username: string
  /** For a new account; empty for none. */
  readonly email: string
  /** For a new account; empty for none. */
  readonly displayName: string
}

/**
 * Returns the account that a trusted reverse proxy names. Requiring a second factor is up to the
 * proxy.
 *
 * @param register whether to create an account without a password for an unknown username. The
 *   first account gets the role ADMIN, because the operator of the proxy decides who may sign in,
 *   and later ones get USER.
 * @throws BAD_CREDENTIALS if the account is archived, or does not exist and is not created.
 */
export async function userOfProxy(
  app: AccountsApp,
  identity: ProxyIdentity,
  register: boolean,
): Promise<User> {
  const found = await findUserByUsername(app.db, identity.username)
  const user =
    found || !register ? found : await transaction(app.db, (tx) => registerUser(app, tx, identity))
  if (user?.state !== 'NORMAL') throw new DomainError('BAD_CREDENTIALS')
  return user
}

/**
 * Creates an account, or returns one created in the meantime. Returns undefined if the username is
 * invalid, or is an organisation or the custom id of an account.
 */
async function registerUser(
  app: AccountsApp,
  tx: Tx,
  { username, ...profile }: ProxyIdentity,
): Promise<User | undefined> {
  if (!isUsername(username)) return undefined
  const raced = await findUserByUsername(tx, username)
  if (raced) return raced
  if ((await findNameHolder(tx, nameKey(username))) !== undefined) return undefined
  const role = (await anyUserExists(tx)) ? 'USER' : 'ADMIN'
  return insertPasswordlessUser(app, tx, { username, role, avatarUrl: '', ...profile })
}
