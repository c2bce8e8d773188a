import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import { findUserById } from '../users/users.rows.ts'
import { findKeyByFingerprint, findKeyById } from './public-keys.rows.ts'

/** Whom a connection by SSH acts for. */
export type SshIdentity =
  | {
      readonly kind: 'account'
      readonly user: User
      readonly title: string
      readonly readOnly: boolean
    }
  /** A key of repositories. */
  | { readonly kind: 'deploy key'; readonly keyId: number }

/** Returns the row of a key that may sign in by SSH. A key of an archived account may not. */
export async function findSshKey(
  app: AccountsApp,
  fingerprint: string,
): Promise<number | undefined> {
  const key = await findKeyByFingerprint(app.db, fingerprint)
  return key && (await identityOfSshKey(app, key.id)) && key.id
}

/** Returns whom a key acts for now; undefined for a deleted key and for an archived account. */
export async function identityOfSshKey(
  app: AccountsApp,
  keyId: number,
): Promise<SshIdentity | undefined> {
  const key = await findKeyById(app.db, keyId)
  if (!key) return undefined
  if (key.user_id === null) return { kind: 'deploy key', keyId }
  const user = await findUserById(app.db, key.user_id)
  if (user?.state !== 'NORMAL') return undefined
  return { kind: 'account', user, title: key.title, readOnly: key.read_only === 1 }
}
