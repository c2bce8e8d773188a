import { accountHolder } from '../../../platform/concurrency/holders.ts'
import { transaction } from '../../../platform/database/database.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { NO_PASSWORD } from '../credentials/passwords.ts'
import type { AccountsApp, AuthorizationGrant } from '../ports.ts'
import { requirePresent, userResourceName } from '../users/users.ts'
import { identify } from './external-identities.ts'
import { requirePresentProvider } from './identity-providers.ts'
import * as rows from './linked-identities.rows.ts'

export type LinkedIdentity = rows.LinkedIdentity

/** Lists the identities of an account in the order in which they were linked. */
export function listLinkedIdentities(app: AccountsApp, owner: User): Promise<LinkedIdentity[]> {
  return rows.listLinkedIdentities(app.db, owner.id)
}

/**
 * Returns the identity of an account at a provider.
 *
 * @throws LINKED_IDENTITY_NOT_FOUND
 */
export async function getLinkedIdentity(
  app: Pick<AccountsApp, 'db'>,
  owner: User,
  providerUid: string,
): Promise<LinkedIdentity> {
  const found = await rows.findLinkedIdentity(app.db, owner.id, providerUid)
  if (!found)
    throw new DomainError('LINKED_IDENTITY_NOT_FOUND', {
      name: linkedIdentityName(owner, providerUid),
    })
  return found
}

/**
 * Links the identity behind a code to an account. Linking the same identity again returns the
 * existing link.
 *
 * @param signal aborts the calls to the provider.
 * @throws the reasons of `identify`, IDENTITY_TAKEN, IDENTITY_ALREADY_LINKED, USER_NOT_FOUND
 */
export async function linkIdentity(
  app: AccountsApp,
  owner: User,
  providerUid: string,
  grant: AuthorizationGrant,
  signal: AbortSignal,
): Promise<LinkedIdentity> {
  const { provider, externUid } = await identify(
    app,
    providerUid,
    { ...grant, holder: accountHolder(owner.id) },
    signal,
  )
  return transaction(app.db, async (tx) => {
    await requirePresent(tx, owner)
    await requirePresentProvider(tx, provider)
    const holder = await rows.findUserByIdentity(tx, provider.id, externUid)
    if (holder && holder.id !== owner.id) throw new DomainError('IDENTITY_TAKEN')
    const linked = await rows.findLinkedIdentity(tx, owner.id, provider.uid)
    if (linked && linked.extern_uid !== externUid) {
      throw new DomainError('IDENTITY_ALREADY_LINKED', {
        name: linkedIdentityName(owner, provider.uid),
      })
    }
    if (!linked) {
      await rows.insertLinkedIdentity(tx, {
        user_id: owner.id,
        provider_id: provider.id,
        extern_uid: externUid,
      })
    }
    return getLinkedIdentity({ db: tx }, owner, provider.uid)
  })
}

/**
 * Unlinks an identity.
 *
 * @throws LINKED_IDENTITY_NOT_FOUND, LAST_SIGN_IN_METHOD, USER_NOT_FOUND
 */
export async function unlinkIdentity(
  app: AccountsApp,
  owner: User,
  providerUid: string,
): Promise<void> {
  await transaction(app.db, async (tx) => {
    const present = await requirePresent(tx, owner)
    const { id } = await getLinkedIdentity({ db: tx }, owner, providerUid)
    const linked = await rows.listLinkedIdentities(tx, owner.id)
    if (linked.length === 1 && !signsInByPassword(app, present)) {
      throw new DomainError('LAST_SIGN_IN_METHOD', { name: linkedIdentityName(owner, providerUid) })
    }
    await rows.deleteLinkedIdentity(tx, id)
  })
}

function signsInByPassword(app: AccountsApp, user: User): boolean {
  return (
    user.password_hash !== NO_PASSWORD && (app.settings.passwordSignIn || user.role === 'ADMIN')
  )
}

function linkedIdentityName(user: User, providerUid: string): string {
  return `${userResourceName(user)}/linkedIdentities/${providerUid}`
}
