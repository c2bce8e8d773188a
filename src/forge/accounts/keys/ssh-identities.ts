import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import { findActiveUsersByUsernameKeys, findUserById } from '../users/users.rows.ts'
import { findKeyByFingerprint, findKeyById, recordPublicKeyUse } from './public-keys.rows.ts'

/** Whom a connection by SSH acts for. */
export type SshIdentity =
  | {
      readonly kind: 'account'
      readonly user: User
      readonly title: string
      readonly readOnly: boolean
      /** Row of the public key; undefined for a certificate. */
      readonly keyId: number | undefined
      readonly fingerprint: string
      /** Unix seconds; null before the first use. Undefined for a certificate. */
      readonly lastUsedTime?: number | null
      /** The certificate of the key, whose name is `title`. */
      readonly certificate?: { readonly serial: string; readonly authority: string }
    }
  /** A key of repositories. */
  | { readonly kind: 'deploy key'; readonly keyId: number; readonly fingerprint: string }

/**
 * Returns a key that may sign in by SSH, with the account or deploy key whose connections count
 * together. A key of an archived account may not.
 */
export async function findSshKey(
  app: AccountsApp,
  fingerprint: string,
): Promise<{ readonly id: number; readonly holder: string } | undefined> {
  const key = await findKeyByFingerprint(app.db, fingerprint)
  const identity = key && (await identityOfSshKey(app, key.id))
  if (!identity) return undefined
  const holder = identity.kind === 'account' ? `account ${identity.user.id}` : `key ${key.id}`
  return { id: key.id, holder }
}

/** Returns whom a key acts for now; undefined for a deleted key and for an archived account. */
export async function identityOfSshKey(
  app: AccountsApp,
  keyId: number,
): Promise<SshIdentity | undefined> {
  const key = await findKeyById(app.db, keyId)
  if (!key) return undefined
  if (key.user_id === null) return { kind: 'deploy key', keyId, fingerprint: key.fingerprint }
  const user = await findUserById(app.db, key.user_id)
  if (user?.state !== 'NORMAL') return undefined
  const { title, fingerprint, last_used_time: lastUsedTime, read_only } = key
  return {
    kind: 'account',
    user,
    title,
    fingerprint,
    readOnly: read_only === 1,
    keyId,
    lastUsedTime,
  }
}

/** Returns the first active account among usernames, which are compared exactly. */
export async function findAccountOfPrincipals(
  app: AccountsApp,
  principals: readonly string[],
): Promise<User | undefined> {
  const named = await findActiveUsersByUsernameKeys(app.db, principals.map(nameKey))
  const found = new Map(named.map((user) => [user.username, user]))
  return principals.map((name) => found.get(name)).find((user) => user !== undefined)
}

/** Shortest time between two records of the use of a key, so that not every fetch writes. */
const USE_INTERVAL_S = 60

/**
 * Records in the background that a key was used now, unless that was recorded within a minute.
 *
 * @param lastUsedTime as stored.
 * @param record stores a time unless a later one than `staleUntil` is stored. Unix seconds.
 */
export function recordKeyUse(
  app: AccountsApp,
  lastUsedTime: number | null,
  record: (usedAt: number, staleUntil: number) => Promise<void>,
): void {
  const now = Math.floor(app.clock.now() / 1000)
  const staleUntil = now - USE_INTERVAL_S
  if (lastUsedTime !== null && lastUsedTime > staleUntil) return
  app.background.run('record the use of an SSH key', () => record(now, staleUntil))
}

/** Records a use of the key of an account. A certificate has no record. */
export function recordAccountKeyUse(
  app: AccountsApp,
  { keyId, lastUsedTime = null }: SshIdentity & { readonly kind: 'account' },
): void {
  if (keyId === undefined) return
  recordKeyUse(app, lastUsedTime, (usedAt, staleUntil) =>
    recordPublicKeyUse(app.db, keyId, usedAt, staleUntil),
  )
}
