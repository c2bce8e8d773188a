import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import type { Scopes } from '../../core/scopes.ts'
import type { AccountsApp } from '../ports.ts'
import { hasPassword, requirePassword } from './passwords.ts'
import * as rows from './sessions.rows.ts'
import { consumeSecondFactor, type SecondFactor } from './two-factor.ts'

/**
 * Somebody who finds an open session, or reads an access token, must not get more than the session.
 * What gives lasting access to the account, or deletes the account, needs a proof that the owner is
 * present: the password, or the second factor. Other credentials need no proof. A password proves
 * itself with each request, and the scopes limit a token.
 */

/**
 * How long a sign-in or a confirmation counts: the lifetime of the first access token of a session.
 * GitHub's sudo mode lasts two hours, and each use extends it; a confirmation here is not extended
 * (https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/sudo-mode).
 */
const CONFIRMED_FOR_S = 15 * 60

/** A proof that the owner is present. Missing values are empty. */
interface Proof extends SecondFactor {
  readonly password: string
}

/** The proof that a change needs besides the session. */
interface Requirement {
  /** The password of the caller, as the request has it; empty for none. */
  readonly currentPassword?: string
  /** Whether a recent sign-in is no proof. */
  readonly isSignInIgnored?: boolean
}

/** Records that the owner of a session is present. */
export async function confirmSession(
  app: AccountsApp,
  caller: SignedIn,
  proof: Proof,
): Promise<void> {
  if (caller.credential.kind !== 'session') throw new DomainError('SESSION_REQUIRED')
  if (proof.password !== '') await requirePassword(app, caller, proof.password)
  else if (proof.passcode !== '' || proof.recoveryCode !== '')
    await consumeSecondFactor(app, holderOf(caller), proof, 'confirm')
  else throw new DomainError('INVALID_FIELD', { field: 'password' })
  await rows.confirmSession(app.db, caller.credential.sessionId, nowSeconds(app.clock))
}

/** Requires that the owner of a session is present. Does nothing for other credentials. */
export async function requireConfirmed(
  app: AccountsApp,
  caller: SignedIn,
  { currentPassword = '', isSignInIgnored = false }: Requirement = {},
): Promise<void> {
  if (caller.credential.kind !== 'session') return
  if (currentPassword !== '') return requirePassword(app, caller, currentPassword)
  const session = await rows.findSession(app.db, caller.credential.sessionId)
  if (!session) throw new DomainError('BAD_CREDENTIALS')
  const isRecent = (time: number) => provesPresence(app, time)
  // An account without a password and a second factor has no proof but the sign-in.
  const signInCounts = !isSignInIgnored || !hasPassword(holderOf(caller))
  if (isRecent(session.confirm_time) || (signInCounts && isRecent(session.create_time))) return
  throw new DomainError('CONFIRMATION_REQUIRED')
}

/**
 * Returns whether a sign-in or a confirmation still proves that the owner is present.
 *
 * @param time in Unix seconds.
 */
export function provesPresence({ clock }: Pick<AccountsApp, 'clock'>, time: number): boolean {
  return time > nowSeconds(clock) - CONFIRMED_FOR_S
}

/** Returns whether a token with these scopes can change the credentials of an account. */
export function reachesCredentials(scopes: Scopes): boolean {
  return scopes.includes('write:user') || scopes.includes('write:admin')
}

/** Returns the account that the session belongs to. */
function holderOf({ administrator, user }: SignedIn): User {
  return administrator ?? user
}
