import { actsAsAdministrator, type Caller, holdsScope, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import { findUserById } from '../users/users.rows.ts'
import { getUser } from '../users/users.ts'
import { findOwnerOfLiveToken } from './personal-access-tokens.rows.ts'
import { findUserOfLiveSession } from './sessions.rows.ts'

/**
 * Authenticates the caller of a long-running call again, with one query by primary key.
 *
 * An access token may expire during the call. Only the session behind it must still exist.
 */
export async function reauthenticate(app: AccountsApp, caller: SignedIn): Promise<SignedIn> {
  const { administrator, ...held } = caller
  if (administrator) {
    return stillActsAs(app, caller, await reauthenticate(app, { ...held, user: administrator }))
  }
  const user = await currentUser(app, caller)
  // As in a new call, tokens remain valid after a password change.
  const outdated =
    caller.credential.kind !== 'token' && user?.token_version !== caller.user.token_version
  if (user?.state !== 'NORMAL' || outdated) throw new DomainError('BAD_CREDENTIALS')
  return { ...caller, user }
}

function currentUser(app: AccountsApp, { user, credential }: SignedIn): Promise<User | undefined> {
  switch (credential.kind) {
    case 'session':
      return findUserOfLiveSession(app.db, credential.sessionId, nowSeconds(app.clock))
    case 'token':
      return findOwnerOfLiveToken(app.db, credential.uuid, app.clock.now())
    default:
      return findUserById(app.db, user.id)
  }
}

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
async function stillActsAs(
  app: AccountsApp,
  caller: SignedIn,
  administrator: SignedIn,
): Promise<SignedIn> {
  const user = await findUserById(app.db, caller.user.id)
  if (user?.state !== 'NORMAL' || !actsAsAdministrator(administrator, 'write'))
    throw new DomainError('BAD_CREDENTIALS')
  return { ...caller, user, administrator: administrator.user }
}
