import { accountHolder } from '../../../platform/concurrency/holders.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { AccountsApp } from '../ports.ts'
import { NO_PASSWORD } from './passwords.ts'

/**
 * Compares a text with the password of the caller. Wrong ones count against the limit of sign-ins.
 *
 * @throws BAD_CREDENTIALS, also for an account without a password; RATE_LIMITED
 */
export async function requirePassword(
  app: AccountsApp,
  { user, administrator, peer }: SignedIn,
  password: string,
): Promise<void> {
  const account = administrator ?? user
  const right = await app.guesses.attempt(
    nameKey(account.username),
    peer.address,
    async () =>
      (await app.passwords.verify(account.password_hash, password, accountHolder(account.id))) ||
      undefined,
  )
  if (!right) throw new DomainError('BAD_CREDENTIALS')
}

/** Returns whether an account has a password. Single sign-on creates accounts without one. */
export function hasPassword({ password_hash }: SignedIn['user']): boolean {
  return password_hash !== NO_PASSWORD
}
