import type { Db, Tx } from '../../../platform/database/schema.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import type { UserChanges } from '../schema.ts'
import { type Avatar, UPLOADED } from './avatars.ts'
import { emailKey } from './user-fields.ts'
import * as rows from './users.rows.ts'

/** An account as lists show it. */
export type ShownUser = rows.ShownUser

/** Maximum number of names in one batch. */
const MAX_BATCH_NAMES = 100

/** Returns the account with an id or username, in any state. */
export async function getUser(app: AccountsApp, segment: string): Promise<User> {
  const user = await rows.findUserByNameKey(app.db, nameKey(segment))
  if (!user) throw new DomainError('USER_NOT_FOUND', { name: `users/${segment}` })
  return user
}

/**
 * Returns the active accounts with some usernames, in the order of first mention. Names are
 * trimmed, and empty names are ignored.
 */
export async function batchGetUsers(
  app: AccountsApp,
  usernames: readonly string[],
): Promise<User[]> {
  const given = usernames.map((username) => nameKey(username.trim())).filter((key) => key !== '')
  if (given.length > MAX_BATCH_NAMES)
    throw new DomainError('TOO_MANY_NAMES', { limit: String(MAX_BATCH_NAMES) })
  if (given.length === 0) return []
  const keys = [...new Set(given)]
  const found = await rows.findActiveUsersByUsernameKeys(app.db, keys)
  const byUsername = new Map(found.map((user) => [nameKey(user.username), user]))
  return keys.flatMap((key) => byUsername.get(key) ?? [])
}

/** A page of a list of accounts. */
export interface UserPage {
  readonly users: readonly ShownUser[]
  /** Where the next page starts; undefined on the last page. */
  readonly next: rows.UserListPosition | undefined
  readonly total: number
}

/** Lists the accounts after a position, newest first. */
export async function listUsers(
  app: AccountsApp,
  filter: { readonly includeArchived: boolean; readonly username: string | undefined },
  after: rows.UserListPosition | undefined,
  limit: number,
): Promise<UserPage> {
  const selection = {
    includeArchived: filter.includeArchived,
    usernameKey: filter.username === undefined ? undefined : nameKey(filter.username),
  }
  // Reads one more row than requested to find out whether there is another page.
  const found = await rows.listUsers(app.db, selection, after, limit + 1)
  const users = found.slice(0, limit)
  const last = users.at(-1)
  return {
    users,
    next: found.length > limit && last ? { createTime: last.create_time, id: last.id } : undefined,
    total: await rows.countUsers(app.db, selection),
  }
}

/** Returns the picture that an account uploaded. */
export async function getAvatar(
  app: AccountsApp,
  user: User,
): Promise<{ contentType: string; data: Buffer }> {
  const avatar = user.avatar_url === UPLOADED ? await rows.findAvatar(app.db, user.id) : undefined
  if (!avatar)
    throw new DomainError('AVATAR_NOT_FOUND', {
      name: `${userResourceName(user)}/avatar`,
    })
  return { contentType: avatar.content_type, data: avatar.data }
}

/** Returns the resource name of a user. */
export function userResourceName({
  user_id,
  username,
}: Pick<User, 'user_id' | 'username'>): string {
  return `users/${user_id ?? username}`
}

/** Returns the names that identify an account: its username and its custom id. */
export function namesOf(user: Pick<User, 'user_id' | 'username'>): Set<string> {
  return new Set([nameKey(user.username), ...(user.user_id === null ? [] : [user.user_id])])
}

/** Returns the columns of an uploaded picture. */
export function avatarRow(avatar: Avatar): { content_type: string; data: Buffer } {
  return { content_type: avatar.contentType, data: avatar.data }
}

/** Checks that a username, id and e-mail address are not used by another account. */
export async function checkNamesFree(
  db: Db,
  wanted: Pick<UserChanges, 'username' | 'user_id' | 'email'>,
  exceptId?: number,
): Promise<void> {
  const { username, user_id: userId, email } = wanted
  const takenBy = async (key: string) => {
    const holder = await rows.findNameHolder(db, key)
    return holder !== undefined && holder !== exceptId
  }
  if (userId && (await takenBy(userId))) throw new DomainError('USER_ID_TAKEN', { user_id: userId })
  if (username && (await takenBy(nameKey(username))))
    throw new DomainError('USERNAME_TAKEN', { username })
  if (email && (await rows.emailTaken(db, emailKey(email), exceptId)))
    throw new DomainError('EMAIL_TAKEN')
}

/**
 * Returns the current row of an account. Since it was read before the transaction, the account may
 * have been changed or deleted.
 */
export async function requirePresent(tx: Tx, user: User): Promise<User> {
  const present = await rows.findUserById(tx, user.id)
  if (!present) throw new DomainError('USER_NOT_FOUND', { name: userResourceName(user) })
  return present
}

/** Checks that a change leaves at least one active administrator. */
export async function checkAdministratorRemains(
  tx: Tx,
  user: User,
  changes: Pick<UserChanges, 'role' | 'state'>,
): Promise<void> {
  const stays =
    (changes.role ?? user.role) === 'ADMIN' && (changes.state ?? user.state) === 'NORMAL'
  if (user.role !== 'ADMIN' || user.state !== 'NORMAL' || stays) return
  if (await rows.anotherAdministratorExists(tx, user.id)) return
  throw new DomainError('LAST_ADMIN', { name: userResourceName(user) })
}
