import type { Tx } from '../../../platform/database/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import type { User } from '../../core/schema.ts'
import { NO_PASSWORD } from '../credentials/passwords.ts'
import type { AccountsApp } from '../ports.ts'
import { emailKey, isEmail, MAX_DISPLAY_NAME_CHARACTERS } from '../users/user-fields.ts'
import * as rows from '../users/users.rows.ts'
import { namesOf } from '../users/users.ts'

/** A new account for a person whom another service has authenticated. */
export interface PasswordlessUser extends Pick<User, 'username' | 'role'> {
  /** Ignored if invalid or taken. */
  readonly email: string
  /** Truncated if too long. */
  readonly displayName: string
  /** '' or an https URL. */
  readonly avatarUrl: string
}

/**
 * Creates an active account without a password. Profile values that do not fit are dropped or
 * truncated, because nobody could correct them.
 *
 * @param account the username must be valid and free.
 */
export async function insertPasswordlessUser(
  app: AccountsApp,
  tx: Tx,
  account: PasswordlessUser,
): Promise<User> {
  const isAddressFree =
    isEmail(account.email) && !(await rows.emailTaken(tx, emailKey(account.email)))
  const email = isAddressFree ? account.email : ''
  const time = nowSeconds(app.clock)
  const user = await rows.insertUser(tx, {
    user_id: null,
    username: account.username,
    email,
    email_key: emailKey(email),
    display_name: [...account.displayName].slice(0, MAX_DISPLAY_NAME_CHARACTERS).join(''),
    avatar_url: account.avatarUrl,
    description: '',
    password_hash: NO_PASSWORD,
    role: account.role,
    state: 'NORMAL',
    create_time: time,
    update_time: time,
  })
  await rows.claimNames(tx, user.id, namesOf(user))
  return user
}
