import { accountHolder } from '../../../platform/concurrency/holders.ts'
import { singleStatement, transaction } from '../../../platform/database/database.ts'
import { actsAsAdministrator, type Caller, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { wakeScheduledMergesBy } from '../../pulls/merging/scheduled-merges.rows.ts'
import { forgetUnreadable } from '../../repositories/access/lost-access.rows.ts'
import { requireConfirmed } from '../credentials/confirmation.ts'
import { checkNewPassword } from '../credentials/passwords.ts'
import { endOtherSessions } from '../credentials/sessions.ts'
import type { AccountsApp } from '../ports.ts'
import type { UserChanges } from '../schema.ts'
import { type Avatar, parseAvatar, UPLOADED } from './avatars.ts'
import { checkProfile, checkUsername } from './user-fields.ts'
import * as rows from './users.rows.ts'
import {
  avatarRow,
  checkAdministratorRemains,
  checkNamesFree,
  namesOf,
  requirePresent,
  userResourceName,
} from './users.ts'

/** Values of an account. An update ignores the values of fields that it does not name. */
export interface UserValues {
  readonly username: string
  readonly display_name: string
  readonly email: string
  readonly avatar_url: string
  readonly description: string
  readonly password: string
  /** Undefined if missing in the request. */
  readonly role: User['role'] | undefined
  /** Undefined if missing in the request, which means NORMAL. */
  readonly state: User['state'] | undefined
  /** Undefined if the method has no such field, which means public. */
  readonly visibility?: User['visibility'] | undefined
  /** Whether the account sees only what it was given access to explicitly. */
  readonly restricted?: boolean | undefined
  /** Only administration clients store the next two. */
  readonly login_name?: string | undefined
  readonly source_id?: number | undefined
}

/** The fields that UpdateUser may change. */
export type UserField = keyof UserValues

/** Fields that only administrators may change. */
const ADMINISTRATORS_FIELDS: readonly UserField[] = [
  'role',
  'state',
  'restricted',
  'login_name',
  'source_id',
]

/** An update of an account. */
export interface UserUpdate {
  readonly values: UserValues
  /** The fields to change. */
  readonly named: ReadonlySet<UserField>
  /**
   * Whether the request names all fields instead of some. The update then skips fields that the
   * caller may not change, and an empty password.
   */
  readonly all: boolean
  /** The present password of the caller; empty for none. */
  readonly currentPassword?: string
}

/** Changes fields of an account. Either every field changes or none does. */
export async function updateUser(
  app: AccountsApp,
  caller: SignedIn,
  user: User,
  { values, named, all, currentPassword = '' }: UserUpdate,
): Promise<User> {
  const fields = all ? applicable(caller, values, named) : named
  checkMayChange(app, caller, user, values, fields)
  const changesEmail = fields.has('email') && values.email !== user.email
  if (fields.has('password') || changesEmail) {
    const isSignInIgnored = fields.has('password') && caller.user.id === user.id
    await requireConfirmed(app, caller, { currentPassword, isSignInIgnored })
  }
  const avatar = fields.has('avatar_url') ? readAvatar(user, values.avatar_url) : undefined
  const changes = await readChanges(app, user, values, fields, avatar)
  if ([...fields].every((field) => TEXTS.has(field))) return updateTexts(app, user, changes)
  const updated = await transaction(app.db, async (tx) => {
    const present = await requirePresent(tx, user)
    await checkAdministratorRemains(tx, present, changes)
    await checkNamesFree(tx, changes, user.id)
    if (fields.has('password')) await endOtherSessions(tx, user.id, keptSession(caller, user))
    if (changes.state === 'ARCHIVED') {
      await endOtherSessions(tx, user.id)
      await wakeScheduledMergesBy(tx, app.clock.now(), { scheduler_id: user.id })
    }
    if (avatar !== undefined && avatar !== UPLOADED) {
      await rows.putAvatar(tx, user.id, typeof avatar === 'string' ? undefined : avatarRow(avatar))
    }
    // A higher version revokes all access tokens made under the old password.
    const token_version = present.token_version + (fields.has('password') ? 1 : 0)
    const updated = await rows.updateUser(tx, user.id, {
      ...changes,
      token_version,
      email_by_token: emailByToken(caller, present, changes),
    })
    if (updated.role !== present.role || updated.restricted !== present.restricted)
      await forgetUnreadable(tx, { userIds: [user.id] })
    if (changes.username !== undefined) await rows.claimNames(tx, user.id, namesOf(updated))
    return updated
  })
  if (changes.state === 'ARCHIVED') app.signals.scheduledMerges.notify()
  return updated
}

/** The fields whose rules are about nothing but their values. */
const TEXTS: ReadonlySet<UserField> = new Set<UserField>(['display_name', 'description'])

async function updateTexts(app: AccountsApp, user: User, changes: UserChanges): Promise<User> {
  const updated = await singleStatement(app.db, (db) => rows.updateTexts(db, user.id, changes))
  if (!updated) throw new DomainError('USER_NOT_FOUND', { name: userResourceName(user) })
  return updated
}

/** Returns the fields of a whole-resource update that apply to this caller. */
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

/** An uploaded picture is read as the path that serves it. Writing that path keeps the picture. */
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
    ...(fields.has('login_name') && { login_name: values.login_name ?? '' }),
    ...(fields.has('source_id') && { source_id: values.source_id ?? 0 }),
    ...(fields.has('password') && {
      password_hash: await app.passwords.hash(values.password, accountHolder(user.id)),
    }),
    update_time: nowSeconds(app.clock),
  }
}

/** Returns whether the caller uses a personal access token of the account, which may be stolen. */
function isOwnToken(caller: SignedIn, user: User): boolean {
  return caller.user.id === user.id && caller.credential.kind === 'token'
}

/**
 * Returns 1 if a token of the account sets the address. A reset mail to that address would give the
 * account to the token's holder.
 */
function emailByToken(caller: SignedIn, present: User, { email }: UserChanges): number {
  if (email === undefined) return present.email_by_token
  if (!isOwnToken(caller, present)) return 0
  return email === present.email ? present.email_by_token : 1
}

/**
 * Returns the session in which callers change their own password. The others end, since someone who
 * knew the old password may hold them.
 */
function keptSession(caller: SignedIn, user: User): string | undefined {
  if (caller.user.id !== user.id || caller.credential.kind !== 'session') return undefined
  return caller.credential.sessionId
}
