import { fingerprintOf, keyInLine } from './public-key-lines.ts'
import { WatchedFile } from './watched-file.ts'

const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}$/
/** The serial number of a certificate. */
const SERIAL = /^serial:(\d{1,20})$/

/** What the operator has revoked: fingerprints of keys and certificates, and `serial:N`. */
export type RevokedKeys = WatchedFile<ReadonlySet<string>>

/** Opens a file with revoked keys. A file that cannot be read revokes nothing and allows nothing. */
export function openRevokedKeys(path: string): RevokedKeys {
  return new WatchedFile(path, 'revoked SSH keys', (lines) => {
    const revoked = new Set<string>()
    for (const [number, line] of lines) {
      const entry = entryOf(line)
      if (entry === undefined)
        throw new Error(`have no fingerprint, no public key and no serial:N in line ${number}`)
      revoked.add(entry)
    }
    return revoked
  })
}

function entryOf(line: string): string | undefined {
  if (FINGERPRINT.test(line)) return line
  const [, serial] = SERIAL.exec(line) ?? []
  if (serial !== undefined) return serialEntry(BigInt(serial))
  const key = keyInLine(line)
  return key && fingerprintOf(key)
}

/** Returns the entry that revokes certificates with a serial number. */
export function serialEntry(serial: bigint): string {
  return `serial:${serial}`
}
