import { fingerprintOf, keyInLine } from './public-key-lines.ts'
import { readStrings } from './ssh-signatures.ts'
import { WatchedFile } from './watched-file.ts'

/** Fingerprints of the keys whose certificates sign users in. */
export type UserAuthorities = WatchedFile<ReadonlySet<string>>

const KEY_TYPES: ReadonlySet<string> = new Set([
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
])

/** Opens a file with the public keys of authorities, one a line. */
export function openUserAuthorities(path: string): UserAuthorities {
  return new WatchedFile(path, 'SSH user authorities', (lines) => {
    const fingerprints = new Set<string>()
    for (const [number, line] of lines) {
      const key = keyInLine(line)
      const type = key && readStrings(key)[0]?.toString()
      if (!key || !KEY_TYPES.has(type ?? ''))
        throw new Error(`have no public key in line ${number}`)
      fingerprints.add(fingerprintOf(key))
    }
    return fingerprints
  })
}
