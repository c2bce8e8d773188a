import { createHash, randomInt, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import {
  countTokens,
  deleteToken,
  findTokenByHash,
  insertToken,
  listTokens,
  noteTokenUse,
  type OwnedToken,
} from '../../../storage/accounts/personal-access-tokens.ts'
import { transaction } from '../../../storage/database/database.ts'
import { wakeAutoMergesBy } from '../../../storage/pulls/auto-merges.ts'
import type { PersonalAccessToken, User } from '../../../storage/schema/accounts.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { Scopes } from '../../core/scopes.ts'
import type { AccountsApp } from '../ports.ts'
import { requirePresent } from '../users/users.ts'

export type { PersonalAccessToken }

/** Every token starts with this, so that programs and secret scanners know one when they see it. */
const PREFIX = 'branchline_pat_'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/**
 * 190 random bits: as good as a key, so a plain hash is enough to store and nobody needs to limit
 * guesses.
 */
const RANDOM_CHARACTERS = 32

/** Holds any number of 32 bits. */
const CHECKSUM_CHARACTERS = 6

const MAX_DESCRIPTION_CHARACTERS = 256
const MAX_EXPIRY_DAYS = 36_500
const DAY_MS = 24 * 60 * 60 * 1000

/** `last_used_at` is written at most this often: a read must not cost a write. */
const USE_INTERVAL_MS = 60 * 1000

/**
 * The end of the text, kept for people to tell their tokens by. Two random characters and the
 * checksum: 145 bits stay unknown.
 */
const SHOWN_CHARACTERS = 8

/** A token to make. */
export interface NewPersonalAccessToken {
  readonly description: string
  /** 0 for never. */
  readonly expiresInDays: number
  /** Names as the client sent them; none for `all`. */
  readonly scopes: readonly string[]
}

/** A token that was made. */
export interface MadeToken {
  readonly token: PersonalAccessToken
  /** What clients send. It cannot be read again. */
  readonly text: string
}

/** Whether a text claims to be a personal access token. */
export function looksLikeToken(text: string): boolean {
  return text.startsWith(PREFIX)
}

/**
 * Makes a token for the caller's own account.
 *
 * A caller who uses a token cannot make a wider one: each scope must be within its own, and the
 * restriction to public data is handed on.
 *
 * @returns the token, and its text, which cannot be read again.
 * @throws INVALID_FIELD, INVALID_EXPIRY, INVALID_SCOPE, SCOPE_NOT_HELD, USER_NOT_FOUND
 */
export async function createPersonalAccessToken(
  app: AccountsApp,
  caller: SignedIn,
  input: NewPersonalAccessToken,
): Promise<MadeToken> {
  const scopes = mintableScopes(caller, Scopes.parse(input.scopes))
  checkTokenDescription('description', input.description)
  if (input.expiresInDays < 0 || input.expiresInDays > MAX_EXPIRY_DAYS) {
    throw new DomainError('INVALID_EXPIRY', { max_days: String(MAX_EXPIRY_DAYS) })
  }
  const expiresInMs = input.expiresInDays === 0 ? undefined : input.expiresInDays * DAY_MS
  return transaction(app.db, async (tx) => {
    await requirePresent(tx, caller.user)
    return storeToken(app, tx, caller.user, { description: input.description, scopes, expiresInMs })
  })
}

/** A token whose fields have been checked. */
export interface CheckedToken {
  readonly description: string
  readonly scopes: Scopes
  /** Undefined for a token that does not expire. */
  readonly expiresInMs: number | undefined
}

/** Creates a token for an account. */
export async function storeToken(
  app: AccountsApp,
  tx: Tx,
  owner: User,
  { description, scopes, expiresInMs }: CheckedToken,
): Promise<MadeToken> {
  const now = app.clock.now()
  const text = newTokenText()
  const token = await insertToken(tx, {
    uuid: randomUUID(),
    user_id: owner.id,
    token_hash: hashOf(text),
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
 * @param field the request's name for it.
 * @throws INVALID_FIELD
 */
export function checkTokenDescription(field: string, description: string): void {
  if ([...description].length > MAX_DESCRIPTION_CHARACTERS) {
    throw new DomainError('INVALID_FIELD', {
      field,
      max_length: String(MAX_DESCRIPTION_CHARACTERS),
    })
  }
}

function mintableScopes(caller: SignedIn, wanted: Scopes): Scopes {
  if (caller.credential.kind !== 'token') return wanted
  const held = caller.credential.scopes
  const scope = wanted.firstOutside(held)
  if (scope !== undefined) throw new DomainError('SCOPE_NOT_HELD', { scope })
  return held.publicOnly ? wanted.asPublicOnly() : wanted
}

/**
 * One page of an account's tokens in the order in which they were made, expired ones included.
 *
 * @param afterId the last one of the page before; 0 for the first page.
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
 * @returns whether the account had such a token.
 */
export async function deletePersonalAccessToken(
  app: AccountsApp,
  owner: Pick<User, 'id'>,
  uuid: string,
): Promise<boolean> {
  const isDeleted = await transaction(app.db, async (tx) => {
    // Nobody stands behind what it has ordered for later any more.
    await wakeAutoMergesBy(tx, app.clock.now(), { token_uuid: uuid, scheduler_id: owner.id })
    return deleteToken(tx, owner.id, uuid)
  })
  app.signals.autoMerges.notify()
  return isDeleted
}

/**
 * The account and scopes that the text of a token stands for.
 *
 * @throws BAD_CREDENTIALS when there is no such token, it has expired, or its owner is archived.
 */
export async function authenticatePersonalAccessToken(
  app: AccountsApp,
  text: string,
): Promise<{ user: User; uuid: string; scopes: Scopes }> {
  const found = await findTokenByHash(app.db, hashOf(text))
  const now = app.clock.now()
  if (
    found?.owner.state !== 'NORMAL' ||
    (found.token.expires_at ?? Number.POSITIVE_INFINITY) <= now
  ) {
    throw new DomainError('BAD_CREDENTIALS')
  }
  noteUse(app, found.token, now)
  return { user: found.owner, uuid: found.token.uuid, scopes: Scopes.fromText(found.token.scopes) }
}

function noteUse(app: AccountsApp, token: OwnedToken['token'], now: number): void {
  const staleUntil = now - USE_INTERVAL_MS
  if (token.last_used_at !== null && token.last_used_at > staleUntil) return
  app.background.run('note the use of a token', () =>
    noteTokenUse(app.db, token.id, now, staleUntil),
  )
}

/**
 * Prefix, random characters, and a checksum by which a scanner can tell a token from a text that
 * looks like one.
 */
function newTokenText(): string {
  // randomInt draws again instead of folding, so that every character is as likely as any other.
  const random = Array.from(
    { length: RANDOM_CHARACTERS },
    () => BASE62[randomInt(BASE62.length)],
  ).join('')
  const body = PREFIX + random
  return body + base62(crc32(body)).padStart(CHECKSUM_CHARACTERS, '0')
}

function base62(value: number): string {
  return value < BASE62.length
    ? (BASE62[value] ?? '')
    : base62(Math.floor(value / BASE62.length)) + (BASE62[value % BASE62.length] ?? '')
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
