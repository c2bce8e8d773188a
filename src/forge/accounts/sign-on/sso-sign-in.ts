import { randomUUID } from 'node:crypto'
import { peerHolder } from '../../../platform/concurrency/holders.ts'
import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { Peer } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import { type SessionGrant, startSession } from '../credentials/sessions.ts'
import type { AccountsApp, AuthorizationGrant } from '../ports.ts'
import { isAvatarUrl } from '../users/avatars.ts'
import { isUsername } from '../users/user-fields.ts'
import { anyUserExists, findNameHolder } from '../users/users.rows.ts'
import { type ExternalIdentity, identify } from './external-identities.ts'
import { requirePresentProvider } from './identity-providers.ts'
import { findUserByIdentity, insertLinkedIdentity } from './linked-identities.rows.ts'
import { insertPasswordlessUser } from './passwordless-users.ts'

/**
 * Starts a session by single sign-on, in the account linked to the identity or in a new one.
 *
 * Requiring a second factor is up to the provider. An existing account is never linked because of
 * its name or address, since the provider does not prove who owns that account.
 *
 * @param client.userAgent stored with the session.
 * @param client.signal aborts the calls to the provider.
 * @throws the reasons of `identify`, RATE_LIMITED, REGISTRATION_CLOSED, ACCOUNT_ARCHIVED,
 *   BAD_CREDENTIALS
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
  const user = await transaction(app.db, async (tx) => {
    await requirePresentProvider(tx, identity.provider)
    return (
      (await findUserByIdentity(tx, identity.provider.id, identity.externUid)) ??
      register(app, tx, identity)
    )
  })
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
  })
  return user
}
