import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { AccountsApp } from '../ports.ts'

const CIPHER = 'aes-256-gcm'

/** The nonce length that GCM is made for (NIST SP 800-38D section 8.2). */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a secret that the server must be able to read again, for storage: AES-256-GCM under a
 * key of this instance that serves this purpose only. Secrets that are only ever compared are
 * hashed instead.
 *
 * Nonces are random, which is sound for 2^32 secrets per purpose (NIST SP 800-38D section 8.3).
 *
 * @param purpose what the secret is, for example `webhook-signing`. It must be the same for `open`.
 * @returns nonce, tag and ciphertext.
 */
export function seal(app: Pick<AccountsApp, 'keys'>, purpose: string, secret: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, keyFor(app, purpose), nonce, { authTagLength: TAG_BYTES })
  const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])
}

/**
 * Decrypts what `seal` made for the same purpose on the same instance.
 *
 * @throws Error when it was sealed elsewhere or has been changed: a fault of the data, not of a
 *   caller.
 */
export function open(app: Pick<AccountsApp, 'keys'>, purpose: string, sealed: Uint8Array): Buffer {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv(CIPHER, keyFor(app, purpose), nonce, {
    authTagLength: TAG_BYTES,
  })
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  return Buffer.concat([
    decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)),
    decipher.final(),
  ])
}

function keyFor(app: Pick<AccountsApp, 'keys'>, purpose: string): Buffer {
  return app.keys.derive(`sealed:${purpose}`)
}
