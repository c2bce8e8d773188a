import { hkdfSync, randomBytes, webcrypto } from 'node:crypto'
import type { CryptoKey } from 'jose'
import { findOrInsertInstanceKey } from '../../../storage/accounts/instance-keys.ts'
import type { Db } from '../../../storage/database/database.ts'
import { type Clock, nowSeconds } from '../../app.ts'

/**
 * The key that is used now. Another id would be another secret beside it, for tokens made before a
 * change of keys.
 */
const KEY_ID = 'v1'

const SECRET_BYTES = 32
const DERIVED_KEY_BYTES = 32

/**
 * The keys of this instance, all derived from one secret, which is made at the first start and
 * stored.
 */
export interface InstanceKeys {
  /** The `kid` of tokens that are signed with `tokenKey`. */
  readonly id: string
  /**
   * HMAC-SHA-256 key of access and refresh tokens. Imported once, as an import costs as much as a
   * signature.
   */
  readonly tokenKey: CryptoKey
  /** A key of 256 bits that is good for one purpose: knowing it tells nothing about the others. */
  derive(purpose: string): Buffer
}

/** Loads the keys of the instance, making them on the first start. */
export async function loadInstanceKeys(db: Db, clock: Clock): Promise<InstanceKeys> {
  const secret = await findOrInsertInstanceKey(db, {
    id: KEY_ID,
    secret: randomBytes(SECRET_BYTES),
    create_time: nowSeconds(clock),
  })
  // HKDF (RFC 5869). The secret is random and as long as a hash, so it needs no salt (section 3.1).
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', secret, '', purpose, DERIVED_KEY_BYTES))
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const tokenKey = await webcrypto.subtle.importKey(
    'raw',
    derive('session-tokens'),
    algorithm,
    false,
    ['sign', 'verify'],
  )
  return { id: KEY_ID, tokenKey, derive }
}
