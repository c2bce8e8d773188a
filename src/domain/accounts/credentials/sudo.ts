import { findUserById } from '../../../storage/accounts/users.ts'
import { actsAsAdministrator, type Caller, holdsScope, type SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { AccountsApp } from '../ports.ts'
import { getUser } from '../users/users.ts'

/** Shown of a name that no account has. */
const MAX_SHOWN_NAME_CHARACTERS = 64

/**
 * An administrator as the account that they want to act as. What the credential is good for stays
 * as it is: its scopes, and whether it is a session or a password.
 *
 * @param name username or id of the account, in any case.
 * @throws SUDO_DENIED unless the caller is an administrator, SCOPE_MISSING for a token of theirs
 *   without `write:admin`, USER_NOT_FOUND, ACCOUNT_ARCHIVED
 */
export async function actAs(app: AccountsApp, caller: Caller, name: string): Promise<SignedIn> {
  if (caller.kind !== 'user' || caller.user.role !== 'ADMIN') throw new DomainError('SUDO_DENIED')
  if (!holdsScope(caller, 'write:admin'))
    throw new DomainError('SCOPE_MISSING', { scope: 'write:admin' })
  if (name.length > MAX_SHOWN_NAME_CHARACTERS) {
    throw new DomainError('USER_NOT_FOUND', {
      name: `users/${name.slice(0, MAX_SHOWN_NAME_CHARACTERS)}`,
    })
  }
  const user = await getUser(app, name)
  if (user.state !== 'NORMAL') throw new DomainError('ACCOUNT_ARCHIVED')
  return { ...caller, user, administrator: caller.user }
}

/**
 * The same, as of now, for a call that has been running for a while.
 *
 * @param administrator as of now.
 * @throws BAD_CREDENTIALS when they administer the instance no more, or the account was archived or
 *   deleted.
 */
export async function stillActsAs(
  app: AccountsApp,
  caller: SignedIn,
  administrator: SignedIn,
): Promise<SignedIn> {
  const user = await findUserById(app.db, caller.user.id)
  if (user?.state !== 'NORMAL' || !actsAsAdministrator(administrator, 'write'))
    throw new DomainError('BAD_CREDENTIALS')
  return { ...caller, user, administrator: administrator.user }
}
