import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { AccountsApp } from '../ports.ts'

const CIPHER = 'aes-256-gcm'

/** The standard nonce length of GCM (NIST SP 800-38D section 8.2). */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a secret for storage that the server must be able to read again. Uses AES-256-GCM with a
 * key of this instance and purpose. Secrets that are only compared are hashed instead.
 *
 * Random nonces are safe for 2^32 secrets per purpose (NIST SP 800-38D section 8.3).
 *
 * @param purpose kind of secret, such as `webhook-signing`; the same as for `open`.
 * @returns nonce, tag and ciphertext.
 */
export function seal(app: Pick<AccountsApp, 'keys'>, purpose: string, secret: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, keyFor(app, purpose), nonce, { authTagLength: TAG_BYTES })
  const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])
}

/**
 * Decrypts a secret that `seal` encrypted for the same purpose on the same instance.
 *
 * @throws Error if another instance sealed the secret or it has been changed. That is a data fault,
 *   not an error of the caller.
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
