import { transaction } from '../../../platform/database/database.ts'
import { actsAsAdministrator, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import type { KeyPage } from '../schema.ts'
import { findUserById } from '../users/users.rows.ts'
import { requirePresent } from '../users/users.ts'
import * as rows from './public-keys.rows.ts'
import { readSshKey } from './ssh-keys.ts'

export type PublicKey = rows.PublicKey

/** More keys than one person has machines, and few enough to scan. */
const MAX_KEYS = 100

/** The limit of compatible systems. */
const MAX_TITLE_CHARACTERS = 255

/** A key and the account that it belongs to. */
export interface OwnedPublicKey {
  readonly key: PublicKey
  readonly owner: User
}

/** A key to add. */
export interface PublicKeyDraft {
  readonly title: string
  /** A line in the format of OpenSSH. */
  readonly key: string
  readonly readOnly: boolean
}

/** Adds an SSH key to an account. */
export async function addPublicKey(
  app: AccountsApp,
  user: User,
  draft: PublicKeyDraft,
): Promise<PublicKey> {
  const title = checkKeyTitle(draft.title)
  const { line, fingerprint } = readSshKey(draft.key)
  return transaction(app.db, async (tx) => {
    await requirePresent(tx, user)
    if (await rows.findKeyByFingerprint(tx, fingerprint)) throw new DomainError('SSH_KEY_IN_USE')
    if (await rows.hasPublicKeyTitle(tx, user.id, title))
      throw new DomainError('SSH_KEY_TITLE_TAKEN')
    if ((await rows.countPublicKeys(tx, user.id)) >= MAX_KEYS) {
      throw new DomainError('TOO_MANY_KEYS', { limit: String(MAX_KEYS) })
    }
    const key = await rows.insertPublicKey(tx, {
      user_id: user.id,
      fingerprint,
      title,
      line,
      read_only: draft.readOnly ? 1 : 0,
      create_time: nowSeconds(app.clock),
    })
    return { ...key, user_id: user.id }
  })
}

/**
 * Lists an account's SSH keys in the order in which they were added.
 *
 * @param fingerprint of the only key to list; empty for all.
 */
export function listPublicKeys(
  app: AccountsApp,
  owner: Pick<User, 'id'>,
  fingerprint: string,
  { offset, limit }: Page,
): Promise<KeyPage<rows.PublicKey>> {
  return rows.listPublicKeys(app.db, owner.id, fingerprint, offset, limit)
}

/** Returns an SSH key of the caller. Administrators may read the keys of all accounts. */
export function getPublicKey(
  app: AccountsApp,
  caller: SignedIn,
  id: bigint,
): Promise<OwnedPublicKey> {
  return openPublicKey(app, caller, id, 'read')
}

/** Deletes an SSH key of the caller. Administrators may delete the keys of all accounts. */
export async function deletePublicKey(
  app: AccountsApp,
  caller: SignedIn,
  id: bigint,
): Promise<void> {
  const { key } = await openPublicKey(app, caller, id, 'write')
  await rows.deletePublicKey(app.db, key.id)
}

/** Deletes an SSH key of an account on behalf of an administrator. */
export async function deletePublicKeyOf(app: AccountsApp, user: User, id: bigint): Promise<void> {
  const key = await rows.findPublicKey(app.db, Number(id))
  if (key?.user_id !== user.id) throw new DomainError('KEY_NOT_FOUND')
  await rows.deletePublicKey(app.db, key.id)
}

async function openPublicKey(
  app: AccountsApp,
  caller: SignedIn,
  id: bigint,
  level: 'read' | 'write',
): Promise<OwnedPublicKey> {
  const key = await rows.findPublicKey(app.db, Number(id))
  const owner = key && (await findUserById(app.db, key.user_id))
  if (!key || !owner) throw new DomainError('KEY_NOT_FOUND')
  if (owner.id !== caller.user.id && !actsAsAdministrator(caller, level))
    throw new DomainError('KEY_ACCESS_DENIED')
  return { key, owner }
}

/** Checks and trims the title of an SSH key. */
export function checkKeyTitle(text: string): string {
  const title = text.trim()
  if (title === '') throw new DomainError('INVALID_FIELD', { field: 'title' })
  if ([...title].length > MAX_TITLE_CHARACTERS) {
    throw new DomainError('INVALID_FIELD', {
      field: 'title',
      max_length: String(MAX_TITLE_CHARACTERS),
    })
  }
  return title
}
