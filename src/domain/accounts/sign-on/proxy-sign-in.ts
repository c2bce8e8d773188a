import {
  anyUserExists,
  findNameHolder,
  findUserByNameKey,
} from '../../../storage/accounts/users.ts'
import { transaction } from '../../../storage/database/database.ts'
import type { User } from '../../../storage/schema/accounts.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { AccountsApp } from '../ports.ts'
import { isUsername } from '../users/user-fields.ts'
import { insertPasswordlessUser } from './passwordless-users.ts'

/** Who a trusted reverse proxy says the caller is. */
export interface ProxyIdentity {
  readonly username: string
  /** Of a new account; empty for none. */
  readonly email: string
  /** Of a new account; empty for none. */
  readonly displayName: string
}

/**
 * The account that a trusted reverse proxy names. It is not asked for a second factor, which is the
 * proxy's to ask for.
 *
 * @param register whether an unknown username gets an account: of role USER, or ADMIN when it is
 *   the first one, since whoever configured the proxy decided who gets that far. It has no
 *   password.
 * @throws BAD_CREDENTIALS when there is no such account, and none is made, or it is archived.
 */
export async function userOfProxy(
  app: AccountsApp,
  identity: ProxyIdentity,
  register: boolean,
): Promise<User> {
  const found = await findUserByNameKey(app.db, nameKey(identity.username))
  const user =
    found || !register ? found : await transaction(app.db, (tx) => makeUser(app, tx, identity))
  // The name may be the chosen id of somebody's account, which is another name than the one that
  // they sign in with.
  const isMeant = user?.state === 'NORMAL' && nameKey(user.username) === nameKey(identity.username)
  if (!isMeant) throw new DomainError('BAD_CREDENTIALS')
  return user
}

/**
 * Makes an account unless somebody made it since; undefined for a username that the rules refuse,
 * or an organisation has.
 */
async function makeUser(
  app: AccountsApp,
  tx: Tx,
  { username, ...profile }: ProxyIdentity,
): Promise<User | undefined> {
  if (!isUsername(username)) return undefined
  const raced = await findUserByNameKey(tx, nameKey(username))
  if (raced) return raced
  if ((await findNameHolder(tx, nameKey(username))) !== undefined) return undefined
  const role = (await anyUserExists(tx)) ? 'USER' : 'ADMIN'
  return insertPasswordlessUser(app, tx, { username, role, avatarUrl: '', ...profile })
}
