import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import { findUserById } from '../users/users.rows.ts'
import { findOwnerOfLiveToken } from './personal-access-tokens.rows.ts'
import { findUserOfLiveSession } from './sessions.rows.ts'
import { stillActsAs } from './sudo.ts'

/**
 * Authenticates the caller of a long-running call again, with one query by primary key.
 *
 * An access token may expire during the call. Only the session behind it must still exist.
 *
 * @throws BAD_CREDENTIALS if the session has ended or expired, the token was deleted or has
 *   expired, the password was changed, the account was archived or deleted, or the administrator
 *   who acts as the user has lost that role.
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
