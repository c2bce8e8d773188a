import { randomUUID } from 'node:crypto'
import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import { Scopes } from '../../core/scopes.ts'
import { wakeScheduledMergesBy } from '../../pulls/merging/scheduled-merges.rows.ts'
import type { AccountsApp } from '../ports.ts'
import type { PersonalAccessToken } from '../schema.ts'
import { findUserByUsername, maySeeOwner, userAsOwner } from '../users/owners.ts'
import { requirePresent } from '../users/users.ts'
import { reachesCredentials, requireConfirmed } from './confirmation.ts'
import * as rows from './personal-access-tokens.rows.ts'
import {
  countTokens,
  deleteToken,
  findTokenByHash,
  insertToken,
  listTokens,
  type OwnedToken,
  recordTokenUse,
} from './personal-access-tokens.rows.ts'
import { newTokenText, tokenHash } from './token-texts.ts'

export type { PersonalAccessToken }

/** Identifies tokens to programs and secret scanners. */
const PREFIX = 'branchline_pat_'

const MAX_DESCRIPTION_CHARACTERS = 256
const MAX_EXPIRY_DAYS = 36_500
const DAY_MS = 24 * 60 * 60 * 1000

/** Minimum interval between writes of `last_used_at`, so that not every read costs a write. */
const USE_INTERVAL_MS = 60 * 1000

/**
 * The end of the text, stored so that people can tell their tokens apart. It has two random
 * characters and the checksum, which leaves 145 bits secret.
 */
const SHOWN_CHARACTERS = 8

/** A token to create. */
export interface NewPersonalAccessToken {
  readonly description: string
  /** 0 for no expiry. */
  readonly expiresInDays: number
  /** Scope names as the client sent them; empty for `all`. */
  readonly scopes: readonly string[]
  /** The present password of the caller; empty for none. */
  readonly currentPassword?: string
}

/** A new token. */
interface CreatedToken {
  readonly token: PersonalAccessToken
  /** The text that clients send. It cannot be read again. */
  readonly text: string
}

/** Returns whether a text has the form of a personal access token. */
export function looksLikePersonalAccessToken(text: string): boolean {
  return text.startsWith(PREFIX)
}

/**
 * Creates a token for the caller's own account.
 *
 * A caller who uses a token cannot create a token with more permissions. Each scope must be within
 * the caller's own, and the restriction to public data is inherited.
 */
export async function createPersonalAccessToken(
  app: AccountsApp,
  caller: SignedIn,
  input: NewPersonalAccessToken,
): Promise<CreatedToken> {
  const scopes = grantableScopes(caller, Scopes.parse(input.scopes))
  checkTokenDescription('description', input.description)
  if (input.expiresInDays < 0 || input.expiresInDays > MAX_EXPIRY_DAYS) {
    throw new DomainError('INVALID_EXPIRY', { max_days: String(MAX_EXPIRY_DAYS) })
  }
  if (reachesCredentials(scopes)) await requireConfirmed(app, caller, input)
  const expiresInMs = input.expiresInDays === 0 ? undefined : input.expiresInDays * DAY_MS
  return transaction(app.db, async (tx) => {
    await requirePresent(tx, caller.user)
    return storeToken(app, tx, caller.user, { description: input.description, scopes, expiresInMs })
  })
}

/** A token whose fields have been checked. */
interface CheckedToken {
  readonly description: string
  readonly scopes: Scopes
  /** Undefined for a token that does not expire. */
  readonly expiresInMs: number | undefined
}

/** Creates a token for an account. */
async function storeToken(
  app: AccountsApp,
  tx: Tx,
  owner: User,
  { description, scopes, expiresInMs }: CheckedToken,
): Promise<CreatedToken> {
  const now = app.clock.now()
  const text = newTokenText(PREFIX)
  const token = await insertToken(tx, {
    uuid: randomUUID(),
    user_id: owner.id,
    token_hash: tokenHash(text),
    last_eight: text.slice(-SHOWN_CHARACTERS),
    description,
    scopes: scopes.text,
    created_at: now,
    expires_at: expiresInMs === undefined ? null : now + expiresInMs,
    last_used_at: null,
  })
  return { token, text }
}

/**
 * Checks the length of a token's description.
 *
 * @param field name of the field in the request.
 */
function checkTokenDescription(field: string, description: string): void {
  if ([...description].length > MAX_DESCRIPTION_CHARACTERS) {
    throw new DomainError('INVALID_FIELD', {
      field,
      max_length: String(MAX_DESCRIPTION_CHARACTERS),
    })
  }
}

function grantableScopes(caller: SignedIn, wanted: Scopes): Scopes {
  if (caller.credential.kind !== 'token') return wanted
  // The new token would outlive what the user granted to the application.
  if (caller.credential.isDelegated) throw new DomainError('SESSION_REQUIRED')
  const held = caller.credential.scopes
  const scope = wanted.firstOutside(held)
  if (scope !== undefined) throw new DomainError('SCOPE_NOT_HELD', { scope })
  return held.publicOnly ? wanted.asPublicOnly() : wanted
}

/**
 * Lists a page of an account's tokens in order of creation, including expired ones.
 *
 * @param afterId id of the last token of the previous page; 0 for the first page.
 */
export async function listPersonalAccessTokens(
  app: AccountsApp,
  owner: User,
  afterId: number,
  pageSize: number,
): Promise<{ tokens: readonly PersonalAccessToken[]; more: boolean; total: number }> {
  const found = await listTokens(app.db, owner.id, afterId, pageSize + 1)
  const total = await countTokens(app.db, owner.id)
  return { tokens: found.slice(0, pageSize), more: found.length > pageSize, total }
}

/**
 * Deletes a token. The next request that carries it is refused.
 *
 * @returns whether the account had the token.
 */
export async function deletePersonalAccessToken(
  app: AccountsApp,
  owner: Pick<User, 'id'>,
  uuid: string,
): Promise<boolean> {
  const isDeleted = await transaction(app.db, async (tx) => {
    // Merges scheduled with this token must be cancelled.
    await wakeScheduledMergesBy(tx, app.clock.now(), { token_uuid: uuid, scheduler_id: owner.id })
    return deleteToken(tx, owner.id, uuid)
  })
  app.signals.scheduledMerges.notify()
  return isDeleted
}

/**
 * Returns the account and scopes of a token.
 *
 * `verifyAgainAt` is the time in Unix milliseconds of its expiry or of its next recorded use,
 * whichever is earlier.
 */
export async function authenticatePersonalAccessToken(
  app: AccountsApp,
  text: string,
): Promise<{ user: User; uuid: string; scopes: Scopes; verifyAgainAt: number }> {
  const found = await findTokenByHash(app.db, tokenHash(text))
  const now = app.clock.now()
  const expiry = found?.token.expires_at ?? Number.POSITIVE_INFINITY
  if (found?.owner.state !== 'NORMAL' || expiry <= now) throw new DomainError('BAD_CREDENTIALS')
  recordUse(app, found.token, now)
  return {
    user: found.owner,
    uuid: found.token.uuid,
    scopes: Scopes.fromText(found.token.scopes),
    verifyAgainAt: Math.min(expiry, nextRecordedUse(found.token)),
  }
}

/** Returns when a use is recorded again, in Unix milliseconds. */
function nextRecordedUse({ last_used_at }: OwnedToken['token']): number {
  return last_used_at === null ? 0 : last_used_at + USE_INTERVAL_MS
}

function recordUse(app: AccountsApp, token: OwnedToken['token'], now: number): void {
  const staleUntil = now - USE_INTERVAL_MS
  if (nextRecordedUse(token) > now) return
  app.background.run('record the use of a token', () =>
    recordTokenUse(app.db, token.id, now, staleUntil),
  )
}

// Personal access tokens as clients of forges see them, with a name that is unique within an
// account. The name is the description of the token, which other clients need not make unique.

/** A page of an account's tokens. */
interface NamedTokenPage {
  readonly tokens: readonly PersonalAccessToken[]
  readonly total: number
}

/**
 * Returns the account whose tokens a caller wants to manage: the caller's own, or any account if
 * the caller is an administrator.
 *
 * @param username compared case-insensitively.
 * @throws USER_NOT_FOUND, PERMISSION_DENIED
 */
export async function openTokenOwner(
  app: AccountsApp,
  caller: SignedIn,
  username: string,
): Promise<User> {
  const user = await findUserByUsername(app.db, username)
  if (!user || !(await maySeeOwner(app, caller, userAsOwner(user)))) {
    throw new DomainError('USER_NOT_FOUND', { name: metadataText(username) })
  }
  if (user.id !== caller.user.id && caller.user.role !== 'ADMIN')
    throw new DomainError('PERMISSION_DENIED')
  return user
}

/** Lists an account's tokens in order of creation, including expired ones. */
export async function listNamedTokens(
  app: AccountsApp,
  owner: User,
  { offset, limit }: Page,
): Promise<NamedTokenPage> {
  return {
    tokens: await rows.listTokensFrom(app.db, owner.id, offset, limit),
    total: await rows.countTokens(app.db, owner.id),
  }
}

/**
 * Creates a token without expiry for an account.
 *
 * @throws INVALID_FIELD, INVALID_SCOPE, TOKEN_NAME_TAKEN, USER_NOT_FOUND
 */
export async function createNamedToken(
  app: AccountsApp,
  owner: User,
  name: string,
  scopeNames: readonly string[],
): Promise<CreatedToken> {
  if (name.trim() === '') throw new DomainError('INVALID_FIELD', { field: 'name' })
  checkTokenDescription('name', name)
  if (scopeNames.length === 0) throw new DomainError('INVALID_SCOPE', { scope: '' })
  const scopes = Scopes.parse(scopeNames)
  return transaction(app.db, async (tx) => {
    await requirePresent(tx, owner)
    const [taken] = await rows.findTokensByDescription(tx, owner.id, name, 1)
    if (taken) throw new DomainError('TOKEN_NAME_TAKEN')
    return storeToken(app, tx, owner, { description: name, scopes, expiresInMs: undefined })
  })
}

/**
 * Deletes a token of an account.
 *
 * @param idOrName a number is an id if a token has that id, and a name otherwise.
 * @throws TOKEN_NOT_FOUND, TOKEN_NAME_AMBIGUOUS
 */
export async function deleteNamedToken(
  app: AccountsApp,
  owner: User,
  idOrName: string,
): Promise<void> {
  const { uuid } = await findToken(app, owner, idOrName)
  await deletePersonalAccessToken(app, owner, uuid)
}

async function findToken(
  app: AccountsApp,
  owner: User,
  idOrName: string,
): Promise<PersonalAccessToken> {
  const byId =
    /^\d{1,15}$/.test(idOrName) && (await rows.findTokenById(app.db, owner.id, Number(idOrName)))
  if (byId) return byId
  const [found, another] = await rows.findTokensByDescription(app.db, owner.id, idOrName, 2)
  const name = metadataText(idOrName)
  if (!found) throw new DomainError('TOKEN_NOT_FOUND', { name })
  if (another) throw new DomainError('TOKEN_NAME_AMBIGUOUS', { name })
  return found
}

/**
 * Returns the token that a request carries.
 *
 * @throws TOKEN_NOT_FOUND if the request carries other credentials.
 */
export async function getTokenInUse(
  app: AccountsApp,
  { user, credential }: SignedIn,
): Promise<PersonalAccessToken> {
  const token =
    credential.kind === 'token' && (await rows.findTokenByUuid(app.db, user.id, credential.uuid))
  if (!token) throw new DomainError('TOKEN_NOT_FOUND', { name: 'token' })
  return token
}

/**
 * Deletes the token that a request carries.
 *
 * @throws TOKEN_NOT_FOUND if the request carries other credentials.
 */
export async function deleteTokenInUse(app: AccountsApp, caller: SignedIn): Promise<void> {
  const { uuid } = await getTokenInUse(app, caller)
  await deletePersonalAccessToken(app, caller.user, uuid)
}
