import { actsAsAdministrator, type Caller, holdsScope, type SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { AccountsApp } from '../ports.ts'
import { findUserById } from '../users/users.rows.ts'
import { getUser } from '../users/users.ts'

/** Maximum number of characters of an unknown name in an error. */
const MAX_SHOWN_NAME_CHARACTERS = 64

/**
 * Returns an administrator as a caller who acts as another account. The kind and scopes of the
 * credential do not change.
 *
 * @param name username or id of the account, compared case-insensitively.
 * @throws SUDO_DENIED unless the caller is an administrator, SCOPE_MISSING for an administrator's
 *   token without `write:admin`, USER_NOT_FOUND, ACCOUNT_ARCHIVED
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
 * Checks again, during a long-running call, that an administrator may act as the account.
 *
 * @param administrator the administrator, authenticated again.
 * @throws BAD_CREDENTIALS if the administrator has lost that role, or the account was archived or
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
