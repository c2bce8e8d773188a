import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  hkdfSync,
  randomBytes,
  webcrypto,
} from 'node:crypto'
import { promisify } from 'node:util'
import { calculateJwkThumbprint, exportJWK } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Db } from '../../../platform/database/schema.ts'
import { StateCache } from '../../../platform/database/state-cache.ts'
import { type Clock, nowSeconds } from '../../core/core.ts'
import type { IdTokenKey, InstanceKeys } from '../ports.ts'
import { findInstanceKey, findOrInsertInstanceKey } from './instance-keys.rows.ts'

/**
 * The current key. After a key rotation, another id would identify the new secret, and tokens made
 * earlier would keep using this one.
 */
const KEY_ID = 'v1'

const SECRET_BYTES = 32
const DERIVED_KEY_BYTES = 32

/** Maximum size of the LRU cache of verified access tokens, some 8 MB when full. */
const MAX_VERIFIED_TOKENS = 10_000

/** Maximum number of verified callers, some 10 MB. */
const MAX_VERIFIED_CALLERS = 10_000

/** Maximum number of page tokens that are kept, 1 MB. */
const MAX_PAGE_TOKENS = 1000

/** Loads the keys of the instance. Creates them at the first start. */
export async function loadInstanceKeys(db: Db, clock: Clock): Promise<InstanceKeys> {
  const secret = await findOrInsertInstanceKey(db, {
    id: KEY_ID,
    secret: randomBytes(SECRET_BYTES),
    create_time: nowSeconds(clock),
  })
  // HKDF (RFC 5869). The secret is random and as long as a hash, so it needs no salt (section 3.1).
  const derived = new Map<string, Buffer>()
  const derive = (purpose: string) => {
    const known = derived.get(purpose)
    if (known) return known
    const key = Buffer.from(hkdfSync('sha256', secret, '', purpose, DERIVED_KEY_BYTES))
    derived.set(purpose, key)
    return key
  }
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const tokenKey = await webcrypto.subtle.importKey(
    'raw',
    derive('session-tokens'),
    algorithm,
    false,
    ['sign', 'verify'],
  )
  let idTokenKey: Promise<IdTokenKey> | undefined
  return {
    id: KEY_ID,
    tokenKey,
    verifiedTokens: new LRUCache({ max: MAX_VERIFIED_TOKENS }),
    verifiedCallers: new StateCache(MAX_VERIFIED_CALLERS),
    pageTokens: new LRUCache({ max: MAX_PAGE_TOKENS }),
    derive,
    idTokenKey() {
      idTokenKey ??= loadIdTokenKey(db, clock).catch((error: unknown) => {
        idTokenKey = undefined
        throw error
      })
      return idTokenKey
    },
  }
}

/** The id of the stored key that signs ID tokens. */
const ID_TOKEN_KEY = 'id-token-rs256-v1'

/** The minimum of RFC 7518 section 3.3. */
const RSA_BITS = 2048

/** Loads the key that signs ID tokens. No key of RSA can be derived from the secret. */
async function loadIdTokenKey(db: Db, clock: Clock): Promise<IdTokenKey> {
  const stored = await findInstanceKey(db, ID_TOKEN_KEY)
  const der = stored ?? (await storeNewIdTokenKey(db, clock))
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const jwk = await exportJWK(createPublicKey(privateKey))
  const kid = await calculateJwkThumbprint(jwk)
  return { privateKey, publicJwk: { ...jwk, alg: 'RS256', use: 'sig', kid } }
}

async function storeNewIdTokenKey(db: Db, clock: Clock): Promise<Buffer> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: RSA_BITS })
  return findOrInsertInstanceKey(db, {
    id: ID_TOKEN_KEY,
    secret: privateKey.export({ format: 'der', type: 'pkcs8' }),
    create_time: nowSeconds(clock),
  })
}
