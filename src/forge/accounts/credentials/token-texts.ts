import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/**
 * 190 random bits are as strong as a key. A plain hash is therefore safe to store, and guesses need
 * no limit.
 */
const RANDOM_CHARACTERS = 32

/** Enough for any 32-bit number. */
const CHECKSUM_CHARACTERS = 6

/**
 * Returns a prefix, random characters, and a checksum that lets scanners recognise tokens.
 *
 * @param prefix identifies the kind of token to programs and secret scanners.
 */
export function newTokenText(prefix: string): string {
  // randomInt avoids modulo bias, so all characters are equally likely.
  const random = Array.from(
    { length: RANDOM_CHARACTERS },
    () => BASE62[randomInt(BASE62.length)],
  ).join('')
  const body = prefix + random
  return body + base62(crc32(body)).padStart(CHECKSUM_CHARACTERS, '0')
}

function base62(value: number): string {
  return value < BASE62.length
    ? (BASE62[value] ?? '')
    : base62(Math.floor(value / BASE62.length)) + (BASE62[value % BASE62.length] ?? '')
}

/** Returns the stored form of a token. */
export function tokenHash(text: string): string {
  return hash('sha256', text)
}
