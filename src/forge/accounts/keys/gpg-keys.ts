import { createHmac } from 'node:crypto'
import { transaction } from '../../../platform/database/database.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import type { GpgKey, KeyPage } from '../schema.ts'
import { getOwner, seesPrivateFieldsOf } from '../users/owners.ts'
import { emailKey } from '../users/user-fields.ts'
import { findUserById } from '../users/users.rows.ts'
import { requirePresent } from '../users/users.ts'
import * as rows from './gpg-keys.rows.ts'
import { hasSigned, type OpenPgpKeyPart, readOpenPgpKey } from './openpgp.ts'

export type { GpgKey }

/** A key as its owner sees it. Other users do not see the addresses. */
export interface GpgKeyView extends rows.GpgKeyWithSubkeys {
  readonly emails: readonly { readonly email: string; readonly verified: boolean }[]
}

/** A page of an account's keys. */
export type GpgKeyPage = KeyPage<GpgKeyView>

/** More keys than one person signs with. */
const MAX_KEYS = 50

/** How long a text to sign is current. The previous text is accepted as well. */
const TOKEN_LIFETIME_MS = 60 * 60 * 1000

/** Line endings that shells and editors append to a text before it is signed. */
const LINE_ENDINGS = ['', '\n', '\r\n']

/** A key to add. */
interface GpgKeyDraft {
  readonly armoredPublicKey: string
  /** Empty for none. */
  readonly armoredSignature: string
}

/** Adds an OpenPGP key to the caller's account. */
export async function addGpgKey(
  app: AccountsApp,
  { user }: SignedIn,
  draft: GpgKeyDraft,
): Promise<GpgKeyView> {
  const key = await readOpenPgpKey(draft.armoredPublicKey)
  const isProven = draft.armoredSignature !== ''
  if (isProven) await checkProof(app, user, key.certificate, draft.armoredSignature)
  return transaction(app.db, async (tx) => {
    const present = await requirePresent(tx, user)
    if (!isProven && !key.emails.some((email) => isEmailOf(present, email))) {
      throw new DomainError('GPG_KEY_EMAIL_UNKNOWN', { token: gpgKeyToken(app, user) })
    }
    const holder = await rows.findGpgKeyByFingerprint(tx, key.primary.fingerprint)
    if (holder && (!isProven || holder.verified === 1)) throw new DomainError('GPG_KEY_IN_USE')
    // Anyone may have added a copy of a public key. The user who proves ownership takes it over.
    if (holder) await rows.deleteGpgKey(tx, holder.id)
    if ((await rows.countGpgKeys(tx, user.id)) >= MAX_KEYS) {
      throw new DomainError('TOO_MANY_KEYS', { limit: String(MAX_KEYS) })
    }
    const subkeys = key.subkeys.map((part) => rowOf(user, part, [], isProven))
    const row = rowOf(user, key.primary, key.emails, isProven)
    return viewOf(await rows.insertGpgKey(tx, row, subkeys, key.certificate), present)
  })
}

function rowOf(user: User, part: OpenPgpKeyPart, emails: readonly string[], isProven: boolean) {
  return {
    user_id: user.id,
    key_id: part.keyId,
    fingerprint: part.fingerprint,
    packet: part.packet,
    flags: part.flags,
    emails: JSON.stringify(emails),
    verified: isProven ? 1 : 0,
    create_time: part.createTime,
    expire_time: part.expireTime,
  }
}

/** Lists the caller's OpenPGP keys in the order in which they were added. */
export async function listMyGpgKeys(
  app: AccountsApp,
  { user }: SignedIn,
  { offset, limit }: Page,
): Promise<GpgKeyPage> {
  const { keys, total } = await rows.listGpgKeys(app.db, user.id, offset, limit)
  return { keys: keys.map((key) => viewOf(key, user)), total }
}

/** Lists an account's OpenPGP keys in the order in which they were added. */
export async function listUserGpgKeys(
  app: AccountsApp,
  caller: Caller,
  username: string,
  { offset, limit }: Page,
): Promise<GpgKeyPage> {
  const owner = await getOwner(app, caller, username)
  const user = seesPrivateFieldsOf(caller, owner) ? await findUserById(app.db, owner.id) : undefined
  const { keys, total } = await rows.listGpgKeys(app.db, owner.id, offset, limit)
  return { keys: keys.map((key) => viewOf(key, user)), total }
}

/** Returns an OpenPGP key of the caller. */
export async function getGpgKey(
  app: AccountsApp,
  { user }: SignedIn,
  id: bigint,
): Promise<GpgKeyView> {
  const found = await rows.findGpgKey(app.db, user.id, Number(id))
  if (!found) throw new DomainError('KEY_NOT_FOUND')
  return viewOf(found, user)
}

/** @param owner undefined for other viewers, who do not see the addresses. */
function viewOf(found: rows.GpgKeyWithSubkeys, owner: User | undefined): GpgKeyView {
  const emails: string[] = owner ? JSON.parse(found.key.emails) : []
  return {
    ...found,
    emails: emails.map((email) => ({
      email,
      verified: owner !== undefined && isEmailOf(owner, email),
    })),
  }
}

/** Deletes an OpenPGP key of the caller and its subkeys. */
export async function deleteGpgKey(app: AccountsApp, caller: SignedIn, id: bigint): Promise<void> {
  const { key } = await getGpgKey(app, caller, id)
  await rows.deleteGpgKey(app.db, key.id)
}

/**
 * Marks a key of the caller as verified if the signature proves ownership.
 *
 * @param keyId of the key or of a subkey, compared case-insensitively.
 */
export async function verifyGpgKey(
  app: AccountsApp,
  caller: SignedIn,
  keyId: string,
  armoredSignature: string,
): Promise<GpgKeyView> {
  const id = await rows.findGpgKeyByKeyId(app.db, caller.user.id, keyId.toUpperCase())
  const certificate = id === undefined ? undefined : await rows.findGpgCertificate(app.db, id)
  if (id === undefined || !certificate) throw new DomainError('KEY_NOT_FOUND')
  await checkProof(app, caller.user, certificate, armoredSignature)
  await rows.markGpgKeyVerified(app.db, id)
  return getGpgKey(app, caller, BigInt(id))
}

/**
 * Returns the text to sign in order to prove that a key belongs to an account. It changes once an
 * hour and is useless to other accounts, so it need not be stored.
 */
export function gpgKeyToken(app: AccountsApp, user: Pick<User, 'id'>): string {
  return tokenAt(app, user, app.clock.now())
}

function tokenAt(app: AccountsApp, user: Pick<User, 'id'>, timeMs: number): string {
  const window = Math.floor(timeMs / TOKEN_LIFETIME_MS)
  return createHmac('sha256', app.keys.derive('gpg-key-ownership'))
    .update(`${user.id}:${window}`)
    .digest('hex')
}

async function checkProof(
  app: AccountsApp,
  user: User,
  certificate: Buffer,
  armoredSignature: string,
): Promise<void> {
  const now = app.clock.now()
  const tokens = [tokenAt(app, user, now), tokenAt(app, user, now - TOKEN_LIFETIME_MS)]
  const texts = tokens.flatMap((token) => LINE_ENDINGS.map((ending) => token + ending))
  if (await hasSigned(certificate, armoredSignature, texts, now)) return
  throw new DomainError('GPG_SIGNATURE_INVALID', { token: gpgKeyToken(app, user) })
}

/**
 * Returns whether an address is known to belong to an account. An address set by a token may belong
 * to anyone.
 */
function isEmailOf(user: Pick<User, 'email_key' | 'email_by_token'>, email: string): boolean {
  return user.email_key !== '' && user.email_by_token === 0 && emailKey(email) === user.email_key
}
