import { createHash } from 'node:crypto'
import * as rows from '../../../storage/accounts/users.ts'
import { transaction } from '../../../storage/database/database.ts'
import type { CreateRequest, User } from '../../../storage/schema/accounts.ts'
import type { Db, Tx } from '../../../storage/schema/schema.ts'
import { actsAsAdministrator, type Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { checkNewPassword } from '../credentials/passwords.ts'
import type { AccountsApp } from '../ports.ts'
import { type Avatar, parseAvatar, UPLOADED } from '../users/avatars.ts'
import { checkProfile, checkUserId, checkUsername } from '../users/user-fields.ts'
import { avatarRow, checkNamesFree, namesOf } from '../users/users.ts'
import type { UserValues } from './edit-user.ts'

/** An account to be made. */
export interface UserDraft extends UserValues {
  /** The id that the creator chose; empty to let the resource name follow the username. */
  readonly userId: string
}

/** How long a request id is remembered. */
const REQUEST_ID_LIFETIME_S = 24 * 60 * 60

/** Printable ASCII, blanks included. */
const REQUEST_ID = /^[\x20-\x7e]{1,64}$/

/**
 * Makes an account as CreateUser does.
 *
 * @param options.requestId empty for none; a repeat of the same request under the same id answers
 *   the same account.
 * @param options.validateOnly checks everything and stores nothing; the answer has the id 0 and no
 *   times.
 * @throws the reasons that CreateUser documents.
 */
export async function createUser(
  app: AccountsApp,
  caller: Caller,
  draft: UserDraft,
  options: { readonly requestId: string; readonly validateOnly: boolean },
): Promise<User> {
  const role = grantedRole(app, caller, draft, !(await rows.anyUserExists(app.db)))
  const request = readRequest(caller, draft, options.requestId)
  const earlier = request && (await findRecent(app, app.db, request))
  if (request && earlier) return repeated(app, request, draft, earlier)
  const account = readDraft(app, caller, draft)
  if (options.validateOnly) {
    await checkNamesFree(app.db, account.columns)
    return { ...UNMADE, ...account.columns, role }
  }
  const password_hash = await app.passwords.hash(draft.password)
  const make = async (tx: Tx) => {
    const grantedNow = grantedRole(app, caller, draft, !(await rows.anyUserExists(tx)))
    return store(app, tx, account, password_hash, grantedNow)
  }
  if (!request) return transaction(app.db, make)
  const outcome = await transaction(app.db, async (tx) => {
    const raced = await findRecent(app, tx, request)
    if (raced) return { raced }
    const user = await make(tx)
    await remember(app, tx, request, password_hash, user)
    return { user }
  })
  return outcome.user ?? repeated(app, request, draft, outcome.raced)
}

/**
 * Makes an account for whoever may read and write the database file: the command line.
 *
 * @throws the reasons that CreateUser documents for its fields.
 */
export async function createUserAsOperator(app: AccountsApp, draft: UserDraft): Promise<User> {
  const account = readDraft(app, undefined, draft)
  const password_hash = await app.passwords.hash(draft.password)
  return transaction(app.db, (tx) => store(app, tx, account, password_hash, draft.role ?? 'USER'))
}

/**
 * The role that a new account gets.
 *
 * The first account administers the instance, so only somebody who is on the machine may take it.
 *
 * @throws FIRST_ACCOUNT_REFUSED, SCOPE_MISSING, REGISTRATION_CLOSED, PASSWORD_SIGN_IN_CLOSED
 */
function grantedRole(
  app: AccountsApp,
  caller: Caller,
  draft: UserDraft,
  first: boolean,
): User['role'] {
  if (first) {
    if (!caller.peer.loopback) throw new DomainError('FIRST_ACCOUNT_REFUSED')
    return 'ADMIN'
  }
  if (actsAsAdministrator(caller, 'write')) return draft.role ?? 'USER'
  if (caller.kind === 'user' && caller.user.role === 'ADMIN') {
    throw new DomainError('SCOPE_MISSING', { scope: 'write:admin' })
  }
  if (app.settings.registration === 'closed') throw new DomainError('REGISTRATION_CLOSED')
  if (!app.settings.passwordSignIn) throw new DomainError('PASSWORD_SIGN_IN_CLOSED')
  return 'USER'
}

/** What a draft says nothing about, of an account that is not stored. */
const UNMADE = {
  id: 0,
  token_version: 1,
  password_hash: '',
  email_by_token: 0,
  keep_email_private: 0,
  create_time: 0,
  update_time: 0,
} as const

/** A draft whose every field has been checked. */
interface CheckedDraft {
  readonly columns: Omit<User, keyof typeof UNMADE | 'role'>
  readonly avatar: string | Avatar
}

/**
 * @param caller undefined for the operator, who may make archived accounts as administrators may.
 */
function readDraft(app: AccountsApp, caller: Caller | undefined, draft: UserDraft): CheckedDraft {
  const username = checkUsername(draft.username)
  const user_id = draft.userId === '' ? null : checkUserId(draft.userId)
  const { email, display_name, description } = draft
  const { email_key = '' } = checkProfile({ email, display_name, description })
  const avatar = parseAvatar(draft.avatar_url)
  checkNewPassword(app.settings, username, draft.password)
  const choosesState = caller === undefined || actsAsAdministrator(caller, 'write')
  return {
    columns: {
      user_id,
      username,
      email,
      email_key,
      display_name,
      description,
      avatar_url: typeof avatar === 'string' ? avatar : UPLOADED,
      state: (choosesState ? draft.state : undefined) ?? 'NORMAL',
      visibility: draft.visibility ?? 'public',
      restricted: draft.restricted ? 1 : 0,
    },
    avatar,
  }
}

async function store(
  app: AccountsApp,
  tx: Tx,
  account: CheckedDraft,
  password_hash: string,
  role: User['role'],
) {
  const { columns, avatar } = account
  await checkNamesFree(tx, columns)
  const time = nowSeconds(app.clock)
  const user = await rows.insertUser(tx, {
    ...columns,
    role,
    password_hash,
    create_time: time,
    update_time: time,
  })
  await rows.claimNames(tx, user.id, namesOf(user))
  if (typeof avatar !== 'string') await rows.putAvatar(tx, user.id, avatarRow(avatar))
  return user
}

/** A create request that can be recognised when it comes again. */
interface IdentifiedRequest {
  readonly caller: string
  readonly requestId: string
  readonly digest: string
}

/** @throws INVALID_REQUEST_ID */
function readRequest(
  caller: Caller,
  draft: UserDraft,
  requestId: string,
): IdentifiedRequest | undefined {
  if (requestId === '') return undefined
  if (!REQUEST_ID.test(requestId)) throw new DomainError('INVALID_REQUEST_ID')
  const { password: _, ...fields } = draft
  return {
    caller: caller.kind === 'user' ? `user:${caller.user.id}` : 'anonymous',
    requestId,
    digest: createHash('sha256')
      .update(JSON.stringify(Object.entries(fields).sort()))
      .digest('hex'),
  }
}

async function findRecent(
  app: AccountsApp,
  db: Db,
  request: IdentifiedRequest,
): Promise<CreateRequest | undefined> {
  const found = await rows.findCreateRequest(db, request.caller, request.requestId)
  return found && found.create_time >= nowSeconds(app.clock) - REQUEST_ID_LIFETIME_S
    ? found
    : undefined
}

async function remember(
  app: AccountsApp,
  tx: Tx,
  request: IdentifiedRequest,
  password_hash: string,
  user: User,
) {
  const create_time = nowSeconds(app.clock)
  await rows.deleteCreateRequestsBefore(tx, create_time - REQUEST_ID_LIFETIME_S)
  const { caller, requestId: request_id, digest } = request
  await rows.insertCreateRequest(tx, {
    caller,
    request_id,
    digest,
    password_hash,
    user_id: user.id,
    create_time,
  })
}

/**
 * The answer to a request that was made before. The password is compared through its hash, and
 * outside of any transaction, because that takes a while.
 *
 * @throws REQUEST_ID_REUSED when the two requests differ.
 */
async function repeated(
  app: AccountsApp,
  request: IdentifiedRequest,
  draft: UserDraft,
  earlier: CreateRequest,
) {
  const same =
    earlier.digest === request.digest &&
    (await app.passwords.verify(earlier.password_hash, draft.password))
  const user = same ? await rows.findUserById(app.db, earlier.user_id) : undefined
  if (!user) throw new DomainError('REQUEST_ID_REUSED', { request_id: request.requestId })
  return user
}
