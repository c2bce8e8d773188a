import { createUser } from '../accounts/users/create-user.ts'
import { type UserField, type UserValues, updateUser } from '../accounts/users/edit-user.ts'
import { findUserByUsername, readVisibility } from '../accounts/users/owners.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError, type Reason } from '../core/errors.ts'
import type { User } from '../core/schema.ts'
import { purgeContributions } from '../issues/purge-contributions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { deleteUser } from './delete-user.ts'

// The account methods of administration tools. They follow the same rules as other methods for
// accounts.

/** Maximum number of characters of an unknown name in an error. */
const MAX_SHOWN_NAME_CHARACTERS = 64

const MAX_LOGIN_NAME_CHARACTERS = 255
const MAX_SOURCE_ID = 2n ** 31n - 1n

/** An account to create. */
interface AdminUserDraft {
  readonly username: string
  readonly email: string
  readonly password: string
  readonly fullName: string
  /** Empty for public. */
  readonly visibility: string
  readonly restricted: boolean
  readonly source: SignInSource
}

/** What clients store about where an account signs in. */
interface SignInSource {
  readonly loginName: string
  /** 0 for none. */
  readonly sourceId: bigint
}

/** Changes of an account. Undefined fields keep their value. */
interface AdminUserEdit {
  /** An empty email, password or visibility keeps the value as well. */
  readonly email: string | undefined
  readonly password: string | undefined
  readonly fullName: string | undefined
  readonly description: string | undefined
  readonly admin: boolean | undefined
  readonly archived: boolean | undefined
  readonly visibility: string | undefined
  readonly restricted: boolean | undefined
  readonly source: Partial<SignInSource>
}

/** Values of fields that are missing in the request. */
const NOTHING: UserValues = {
  username: '',
  display_name: '',
  email: '',
  avatar_url: '',
  description: '',
  password: '',
  role: undefined,
  state: undefined,
}

/** Creates an account on behalf of an administrator. */
export function createUserAsAdmin(
  app: ReposApp,
  caller: SignedIn,
  draft: AdminUserDraft,
): Promise<User> {
  const { username, email, password, fullName, restricted } = draft
  if (email === '') throw new DomainError('INVALID_EMAIL')
  const visibility = readVisibility(draft.visibility) ?? 'public'
  const values = {
    ...NOTHING,
    username,
    email,
    password,
    display_name: fullName,
    visibility,
    restricted,
    ...sourceColumns(draft.source),
    userId: '',
  }
  return createUser(app, caller, values, { requestId: '', validateOnly: false })
}

/** Changes an account on behalf of an administrator. Either every field changes or none does. */
export async function editUserAsAdmin(
  app: ReposApp,
  caller: SignedIn,
  username: string,
  edit: AdminUserEdit,
): Promise<User> {
  const user = await getUserAsAdmin(app, username)
  const visibility = readVisibility(edit.visibility)
  const changes: Partial<UserValues> = {
    ...(edit.email && { email: edit.email }),
    ...(edit.password && { password: edit.password }),
    ...(edit.fullName !== undefined && { display_name: edit.fullName }),
    ...(edit.description !== undefined && { description: edit.description }),
    ...(edit.admin !== undefined && { role: edit.admin ? 'ADMIN' : 'USER' }),
    ...(edit.archived !== undefined && { state: edit.archived ? 'ARCHIVED' : 'NORMAL' }),
    ...(visibility && { visibility }),
    ...(edit.restricted !== undefined && { restricted: edit.restricted }),
    ...sourceColumns(edit.source),
  }
  const named = new Set(Object.keys(changes) as UserField[])
  return updateUser(app, caller, user, { values: { ...NOTHING, ...changes }, named, all: false })
}

function sourceColumns({ loginName, sourceId }: Partial<SignInSource>) {
  if (loginName !== undefined && [...loginName].length > MAX_LOGIN_NAME_CHARACTERS)
    throw new DomainError('INVALID_FIELD', { field: 'login_name' })
  if (sourceId !== undefined && (sourceId < 0n || sourceId > MAX_SOURCE_ID))
    throw new DomainError('INVALID_FIELD', { field: 'source_id' })
  return {
    ...(loginName !== undefined && { login_name: loginName }),
    ...(sourceId !== undefined && { source_id: Number(sourceId) }),
  }
}

/**
 * Deletes an account on behalf of an administrator.
 *
 * @param purge also deletes data that others may rely on, and all its issues and comments.
 */
export async function deleteUserAsAdmin(
  app: ReposApp,
  username: string,
  purge: boolean,
): Promise<void> {
  const user = await getUserAsAdmin(app, username)
  try {
    await deleteUser(app, user, purge ? 'purged' : 'orphaned')
  } catch (error) {
    const reason = error instanceof DomainError ? ADMIN_REASONS.get(error.reason) : undefined
    throw error instanceof DomainError && reason ? new DomainError(reason, error.metadata) : error
  }
}

/** Renames an account on behalf of an administrator. Its former name redirects to it. */
export async function renameUserAsAdmin(
  app: ReposApp,
  caller: SignedIn,
  username: string,
  newName: string,
): Promise<void> {
  const user = await getUserAsAdmin(app, username)
  const values = { ...NOTHING, username: newName }
  await updateUser(app, caller, user, { values, named: new Set(['username']), all: false })
}

/** Reasons with a different status in the administration API of compatible systems. */
const ADMIN_REASONS: ReadonlyMap<Reason, Reason> = new Map([
  ['HAS_ASSOCIATED_DATA', 'ACCOUNT_NOT_PURGED'],
  ['SOLE_ORGANIZATION_OWNER', 'LAST_ORGANIZATION_OWNER'],
])

/** Returns the account with a name. */
export async function getUserAsAdmin(app: ReposApp, username: string): Promise<User> {
  const user = await findUserByUsername(app.db, username)
  if (!user)
    throw new DomainError('USER_NOT_FOUND', { name: username.slice(0, MAX_SHOWN_NAME_CHARACTERS) })
  return user
}

/**
 * Deletes the issues and the comments of an account on behalf of an administrator.
 *
 * @param since only what was made at this time or later, in Unix seconds; undefined for all.
 */
export async function purgeAsAdmin(
  app: ReposApp,
  username: string,
  since: number | undefined,
): Promise<void> {
  const { id } = await getUserAsAdmin(app, username)
  await purgeContributions(app, id, since ?? 0)
}
