import { createHmac, randomBytes } from 'node:crypto'
import { DomainError } from '../core/errors.ts'

/**
 * What secrets start with whose rest is a key in base64 (Standard Webhooks 1.0, "Signature
 * scheme").
 */
const KEY_PREFIX = 'whsec_'

/** Bounds of the key of such a secret, from the same section. */
const MIN_KEY_BYTES = 24
const MAX_KEY_BYTES = 64

/** As long as the hash, beyond which a key of HMAC-SHA-256 gains nothing (RFC 2104 section 3). */
const NEW_KEY_BYTES = 32

/**
 * Longest secret without the prefix. Longer ones than a block of the hash would be hashed first
 * anyway.
 */
const MAX_TEXT_CHARACTERS = 256

/** @returns the text of a new key. */
export function newSigningSecret(): string {
  return KEY_PREFIX + randomBytes(NEW_KEY_BYTES).toString('base64')
}

/**
 * Checks a secret that somebody chose.
 *
 * @throws INVALID_SIGNING_SECRET
 */
export function checkSigningSecret(secret: string): void {
  if (!/^[\x20-\x7e]+$/.test(secret) || !hasFittingKey(secret))
    throw new DomainError('INVALID_SIGNING_SECRET')
}

function hasFittingKey(secret: string): boolean {
  if (!secret.startsWith(KEY_PREFIX)) return secret.length <= MAX_TEXT_CHARACTERS
  const key = keyOf(secret)
  // Node skips what is no base64; receivers that do not would make another key of it.
  const isExact = KEY_PREFIX + key.toString('base64') === secret
  return isExact && key.length >= MIN_KEY_BYTES && key.length <= MAX_KEY_BYTES
}

/** What an attempt is signed over. */
export interface SignedContent {
  readonly id: string
  /** Unix seconds of the attempt. */
  readonly timestamp: number
  readonly body: string
}

/**
 * The value of `webhook-signature`: a signature for each secret, by the scheme v1 of Standard
 * Webhooks 1.0.
 *
 * @param secrets the secret in use, and the one before while receivers change over.
 */
export function signatureOf(
  { id, timestamp, body }: SignedContent,
  secrets: readonly string[],
): string {
  return secrets
    .map((secret) =>
      createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64'),
    )
    .map((signature) => `v1,${signature}`)
    .join(' ')
}

function keyOf(secret: string): Buffer {
  return secret.startsWith(KEY_PREFIX)
    ? Buffer.from(secret.slice(KEY_PREFIX.length), 'base64')
    : Buffer.from(secret)
}
