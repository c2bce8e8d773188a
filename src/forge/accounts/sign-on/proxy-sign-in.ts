import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import { findUserByUsername } from '../users/owners.ts'
import { isUsername } from '../users/user-fields.ts'
import { anyUserExists, findNameHolder } from '../users/users.rows.ts'
import { insertPasswordlessUser } from './passwordless-users.ts'

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
