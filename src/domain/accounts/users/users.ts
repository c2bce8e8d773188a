import * as rows from '../../../storage/accounts/users.ts'
import { transaction } from '../../../storage/database/database.ts'
import { wakeAutoMergesBy } from '../../../storage/pulls/auto-merges.ts'
import type { User, UserChanges } from '../../../storage/schema/accounts.ts'
import type { Db, Tx } from '../../../storage/schema/schema.ts'
import { actsAsAdministrator, type Caller, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import { checkNewPassword } from '../credentials/passwords.ts'
import { endOtherSessions } from '../credentials/sessions.ts'
import type { AccountsApp } from '../ports.ts'
import { type Avatar, parseAvatar, UPLOADED } from './avatars.ts'
import { checkProfile, checkUsername, emailKey } from './user-fields.ts'

export type { User }

/** What UpdateUser may change. */
export type UserField =
  | 'username'
  | 'display_name'
  | 'email'
  | 'avatar_url'
  | 'description'
  | 'role'
  | 'password'
  | 'state'
  | 'visibility'
  | 'restricted'

/** Values for an update; those of fields that the update does not name are not looked at. */
export interface UserValues {
  readonly username: string
  readonly display_name: string
  readonly email: string
  readonly avatar_url: string
  readonly description: string
  readonly password: string
  /** Undefined when the request leaves it out. */
  readonly role: User['role'] | undefined
  /** Undefined when the request leaves it out, which means NORMAL. */
  readonly state: User['state'] | undefined
  /** Left out where nothing can be said about it, which means public. */
  readonly visibility?: User['visibility'] | undefined
  /** Whether the account sees only what was opened to it by name. */
  readonly restricted?: boolean | undefined
}

/** What only administrators change. */
const ADMINISTRATORS_FIELDS: readonly UserField[] = ['role', 'state', 'restricted']

/** Most names that one batch may hold. */
export const MAX_BATCH_NAMES = 100

/**
 * The account with this id or username, whatever its state.
 *
 * @throws USER_NOT_FOUND
 */
export async function getUser(app: AccountsApp, segment: string): Promise<User> {
  const user = await rows.findUserByNameKey(app.db, nameKey(segment))
  if (!user) throw new DomainError('USER_NOT_FOUND', { name: `users/${segment}` })
  return user
}

/**
 * The active accounts among some usernames, in the order of first mention. Blanks around names are
 * dropped, and so are empty names.
 *
 * @throws TOO_MANY_NAMES for more than a hundred, repeated ones included.
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

/** One page of accounts. */
export interface UserPage {
  readonly users: readonly User[]
  /** Where the next page starts; undefined on the last one. */
  readonly next: rows.UserListPosition | undefined
  readonly total: number
}

/** Accounts behind a position, newest first. */
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
  // One more than asked for tells whether a full page is the last.
  const found = await rows.listUsers(app.db, selection, after, limit + 1)
  const users = found.slice(0, limit)
  const last = users.at(-1)
  return {
    users,
    next: found.length > limit && last ? { createTime: last.create_time, id: last.id } : undefined,
    total: await rows.countUsers(app.db, selection),
  }
}

/**
 * The picture that an account uploaded.
 *
 * @throws AVATAR_NOT_FOUND
 */
export async function getAvatar(
  app: AccountsApp,
  user: User,
): Promise<{ contentType: string; data: Buffer }> {
  const avatar = user.avatar_url === UPLOADED ? await rows.findAvatar(app.db, user.id) : undefined
  if (!avatar)
    throw new DomainError('AVATAR_NOT_FOUND', {
      name: `users/${user.user_id ?? user.username}/avatar`,
    })
  return { contentType: avatar.content_type, data: avatar.data }
}

/**
 * Changes the named fields of an account, all or none.
 *
 * @param all whether the update was for every field rather than for named ones: then fields that
 *   this caller may not change, and an empty password, are passed over.
 * @throws the reasons that UpdateUser documents.
 */
export async function updateUser(
  app: AccountsApp,
  caller: SignedIn,
  user: User,
  values: UserValues,
  named: ReadonlySet<UserField>,
  all: boolean,
): Promise<User> {
  const fields = all ? applicable(caller, values, named) : named
  checkMayChange(app, caller, user, values, fields)
  const avatar = fields.has('avatar_url') ? readAvatar(user, values.avatar_url) : undefined
  const changes = await readChanges(app, user, values, fields, avatar)
  const updated = await transaction(app.db, async (tx) => {
    const present = await requirePresent(tx, user)
    await checkAdministratorRemains(tx, present, changes)
    await checkNamesFree(tx, changes, user.id)
    if (fields.has('password')) await endOtherSessions(tx, user.id, keptSession(caller, user))
    if (changes.state === 'ARCHIVED') {
      await endOtherSessions(tx, user.id)
      await wakeAutoMergesBy(tx, app.clock.now(), { scheduler_id: user.id })
    }
    if (avatar !== undefined && avatar !== UPLOADED) {
      await rows.putAvatar(tx, user.id, typeof avatar === 'string' ? undefined : avatarRow(avatar))
    }
    // A higher version voids every access token that was made under the old password.
    const token_version = present.token_version + (fields.has('password') ? 1 : 0)
    const updated = await rows.updateUser(tx, user.id, {
      ...changes,
      token_version,
      email_by_token: emailByToken(caller, present, changes),
    })
    if (changes.username !== undefined) await rows.claimNames(tx, user.id, namesOf(updated))
    return updated
  })
  app.signals.autoMerges.notify()
  return updated
}

/** The names that lead to an account: its username, and the id that its creator chose. */
export function namesOf(user: Pick<User, 'user_id' | 'username'>): Set<string> {
  return new Set([nameKey(user.username), ...(user.user_id === null ? [] : [user.user_id])])
}

/** Row form of an uploaded picture. */
export function avatarRow(avatar: Avatar): { content_type: string; data: Buffer } {
  return { content_type: avatar.contentType, data: avatar.data }
}

/**
 * Refuses a username, id or e-mail address that leads to another account.
 *
 * @throws USERNAME_TAKEN, USER_ID_TAKEN, EMAIL_TAKEN
 */
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

/** Of the fields of a whole-resource update, those that it can mean for this caller. */
function applicable(
  caller: Caller,
  values: UserValues,
  fields: ReadonlySet<UserField>,
): Set<UserField> {
  const kept = new Set(fields)
  if (values.password === '') kept.delete('password')
  if (!actsAsAdministrator(caller, 'write')) {
    for (const field of ADMINISTRATORS_FIELDS) kept.delete(field)
  }
  return kept
}

function checkMayChange(
  app: AccountsApp,
  caller: SignedIn,
  user: User,
  values: UserValues,
  fields: ReadonlySet<UserField>,
): void {
  const { settings } = app
  if (fields.has('password') && isOwnToken(caller, user)) throw new DomainError('SESSION_REQUIRED')
  if (actsAsAdministrator(caller, 'write')) return
  if (ADMINISTRATORS_FIELDS.some((field) => fields.has(field)))
    throw new DomainError('PERMISSION_DENIED')
  const renames = fields.has('username') && values.username !== user.username
  if (renames && !settings.usernameChange) throw new DomainError('USERNAME_CHANGE_CLOSED')
  const redisplays = fields.has('display_name') && values.display_name !== user.display_name
  if (redisplays && !settings.displayNameChange) throw new DomainError('DISPLAY_NAME_CHANGE_CLOSED')
}

/**
 * An uploaded picture reads back as the path it is served at; that path on input means to keep it.
 */
function readAvatar(user: User, text: string): string | Avatar {
  const keeps = user.avatar_url === UPLOADED && /^\/file\/users\/[^/]+\/avatar$/.test(text)
  return keeps ? UPLOADED : parseAvatar(text)
}

async function readChanges(
  app: AccountsApp,
  user: User,
  values: UserValues,
  fields: ReadonlySet<UserField>,
  avatar: string | Avatar | undefined,
): Promise<UserChanges> {
  const writesUsername = fields.has('username') && values.username !== user.username
  if (fields.has('role') && values.role === undefined)
    throw new DomainError('INVALID_FIELD', { field: 'user.role' })
  if (fields.has('password')) {
    checkNewPassword(
      app.settings,
      writesUsername ? values.username : user.username,
      values.password,
    )
  }
  return {
    ...checkProfile({
      ...(fields.has('email') && { email: values.email }),
      ...(fields.has('display_name') && { display_name: values.display_name }),
      ...(fields.has('description') && { description: values.description }),
    }),
    ...(writesUsername && { username: checkUsername(values.username) }),
    ...(avatar !== undefined && { avatar_url: typeof avatar === 'string' ? avatar : UPLOADED }),
    ...(fields.has('role') && values.role && { role: values.role }),
    ...(fields.has('state') && { state: values.state ?? 'NORMAL' }),
    ...(fields.has('visibility') && { visibility: values.visibility ?? 'public' }),
    ...(fields.has('restricted') && { restricted: values.restricted ? 1 : 0 }),
    ...(fields.has('password') && { password_hash: await app.passwords.hash(values.password) }),
    update_time: nowSeconds(app.clock),
  }
}

/**
 * Whether the caller is a personal access token of the account, which may be in the hands of a
 * thief.
 */
function isOwnToken(caller: SignedIn, user: User): boolean {
  return caller.user.id === user.id && caller.credential.kind === 'token'
}

/**
 * 1 when it was a token of the account that wrote its address: a reset mail would hand the account
 * to the token.
 */
function emailByToken(caller: SignedIn, present: User, { email }: UserChanges): number {
  if (email === undefined) return present.email_by_token
  if (!isOwnToken(caller, present)) return 0
  return email === present.email ? present.email_by_token : 1
}

/**
 * The caller keeps the session in which they changed their own password; every other one ends, and
 * with it whoever knew the old password.
 */
function keptSession(caller: SignedIn, user: User): string | undefined {
  if (caller.user.id !== user.id || caller.credential.kind !== 'session') return undefined
  return caller.credential.sessionId
}

/**
 * The account as it is now: it was read before the transaction, and others may have changed or
 * deleted it since.
 *
 * @throws USER_NOT_FOUND
 */
export async function requirePresent(tx: Tx, user: User): Promise<User> {
  const present = await rows.findUserById(tx, user.id)
  if (!present)
    throw new DomainError('USER_NOT_FOUND', { name: `users/${user.user_id ?? user.username}` })
  return present
}

/** @throws LAST_ADMIN when the change would leave nobody who can administer the instance. */
export async function checkAdministratorRemains(
  tx: Tx,
  user: User,
  changes: Pick<UserChanges, 'role' | 'state'>,
): Promise<void> {
  const stays =
    (changes.role ?? user.role) === 'ADMIN' && (changes.state ?? user.state) === 'NORMAL'
  if (user.role !== 'ADMIN' || user.state !== 'NORMAL' || stays) return
  if (await rows.anotherAdministratorExists(tx, user.id)) return
  throw new DomainError('LAST_ADMIN', { name: `users/${user.user_id ?? user.username}` })
}
