import { createHash } from 'node:crypto'
import { transaction } from '../../../platform/database/database.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { actsAsAdministrator, type Caller, holderOf } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { checkNewPassword } from '../credentials/passwords.ts'
import type { AccountsApp } from '../ports.ts'
import type { CreateRequest } from '../schema.ts'
import { type Avatar, parseAvatar, UPLOADED } from './avatars.ts'
import type { UserValues } from './edit-user.ts'
import { checkProfile, checkUserId, checkUsername } from './user-fields.ts'
import * as rows from './users.rows.ts'
import { avatarRow, checkNamesFree, namesOf } from './users.ts'

/** An account to create. */
export interface UserDraft extends UserValues {
  /** The custom id; empty if the resource name follows the username. */
  readonly userId: string
}

/** How long a request id is stored. */
const REQUEST_ID_LIFETIME_S = 24 * 60 * 60

/** Printable ASCII, including spaces. */
const REQUEST_ID = /^[\x20-\x7e]{1,64}$/

/**
 * Creates an account as CreateUser does.
 *
 * @param options.requestId empty for none. Repeating a request with the same id returns the same
 *   account.
 * @param options.validateOnly checks the request without storing anything. The result has the id 0
 *   and no times.
 */
export async function createUser(
  app: AccountsApp,
  caller: Caller,
  draft: UserDraft,
  options: { readonly requestId: string; readonly validateOnly: boolean },
): Promise<User> {
  const isFirst = !(await rows.anyUserExists(app.db))
  const role = grantedRole(app, caller, draft, isFirst)
  const request = readRequest(caller, draft, options.requestId)
  const earlier = request && (await findRecent(app, app.db, request))
  if (request && earlier) return repeated(app, caller, request, draft, earlier)
  const account = readDraft(app, caller, draft)
  if (options.validateOnly) {
    await checkNamesFree(app.db, account.columns)
    return { ...NOT_STORED, ...account.columns, role }
  }
  const password_hash = await app.passwords.hash(draft.password, holderOf(caller))
  const make = async (tx: Tx) => {
    // Only the first account depends on others. A transaction that reads for all accounts what the
    // creation of each changes would run again for each other one on PostgreSQL.
    const isFirstNow = isFirst && !(await rows.anyUserExists(tx))
    return store(app, tx, account, password_hash, grantedRole(app, caller, draft, isFirstNow))
  }
  if (!request) return transaction(app.db, make)
  const outcome = await transaction(app.db, async (tx) => {
    const raced = await findRecent(app, tx, request)
    if (raced) return { raced }
    const user = await make(tx)
    await remember(app, tx, request, password_hash, user)
    return { user }
  })
  return outcome.user ?? repeated(app, caller, request, draft, outcome.raced)
}

/** Creates an account for the command line, whose user has access to the database file. */
export async function createUserAsOperator(app: AccountsApp, draft: UserDraft): Promise<User> {
  const account = readDraft(app, undefined, draft)
  const password_hash = await app.passwords.hash(draft.password, 'server')
  return transaction(app.db, (tx) => store(app, tx, account, password_hash, draft.role ?? 'USER'))
}

/**
 * Returns the role of a new account.
 *
 * The first account administers the instance, so it can only be created on the machine.
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

/** Columns of an account that is only validated. */
const NOT_STORED = {
  id: 0,
  token_version: 1,
  password_hash: '',
  email_by_token: 0,
  keep_email_private: 0,
  website: '',
  location: '',
  stars_count: 0,
  followers_count: 0,
  following_count: 0,
  create_time: 0,
  update_time: 0,
} as const

/** A draft whose fields are all valid. */
interface CheckedDraft {
  readonly columns: Omit<User, keyof typeof NOT_STORED | 'role'>
  readonly avatar: string | Avatar
}

/**
 * Validates a draft.
 *
 * @param caller undefined for the operator, who may create archived accounts like an administrator.
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
      login_name: draft.login_name ?? '',
      source_id: draft.source_id ?? 0,
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

/** A create request that can be recognised when it is repeated. */
interface IdentifiedRequest {
  readonly caller: string
  readonly requestId: string
  readonly digest: string
}

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
 * Returns the account of an earlier identical request. The password is compared by its hash,
 * outside a transaction because that takes a while.
 */
async function repeated(
  app: AccountsApp,
  caller: Caller,
  request: IdentifiedRequest,
  draft: UserDraft,
  earlier: CreateRequest,
) {
  const same =
    earlier.digest === request.digest &&
    (await app.passwords.verify(earlier.password_hash, draft.password, holderOf(caller)))
  const user = same ? await rows.findUserById(app.db, earlier.user_id) : undefined
  if (!user) throw new DomainError('REQUEST_ID_REUSED', { request_id: request.requestId })
  return user
}
