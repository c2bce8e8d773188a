import { createHash } from 'node:crypto'

/**
 * A public key as in `authorized_keys`: the type, the key in base64, and perhaps a comment. A key
 * begins with the length of its type (RFC 4253, section 6.6), which is far below 2^24.
 */
const PUBLIC_KEY = /^[a-z0-9@.-]+ (AAAA[A-Za-z0-9+/]+={0,2})(?: .*)?$/

/** Returns the key of a line in the form of RFC 4253, section 6.6; undefined for other lines. */
export function keyInLine(line: string): Buffer | undefined {
  const [, key] = PUBLIC_KEY.exec(line) ?? []
  return key === undefined ? undefined : Buffer.from(key, 'base64')
}

/** Returns the fingerprint of a key as OpenSSH prints it. */
export function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}
