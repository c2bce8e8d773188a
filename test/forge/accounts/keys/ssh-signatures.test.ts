import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import {
  isSshSignatureOf,
  readSshKey,
  readSshSignature,
} from '../../../../src/forge/accounts/keys/ssh-keys.ts'
import { execFileSync } from '../../../support/programs.ts'
import {
  armor,
  type HowToSign,
  newSshSigner,
  SSH_KEY_TYPES,
  type SshKeyType,
} from '../../../support/ssh-signing.ts'

const TEXT = 'tree 0\n\nmessage\n'

const signers = Object.fromEntries(SSH_KEY_TYPES.map((type) => [type, newSshSigner(type)]))

function signerOf(type: SshKeyType) {
  return signers[type] ?? newSshSigner(type)
}

/**
 * Returns whether an armored signature of a text is valid for Git; undefined if it cannot be
 * parsed.
 */
async function check(armored: string, text: string | Buffer = TEXT): Promise<boolean | undefined> {
  const signature = readSshSignature(armored)
  return signature && isSshSignatureOf(signature, 'git', Buffer.from(text))
}

/** Created by ssh-keygen of OpenSSH 9.2. */
const OF_OPENSSH = {
  key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDYPLtkQHmFU0omh6cRFu1CfKaoCxcbdct/D/z3W/NBO',
  signature: `-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgNg8u2RAeYVTSiaHpxEW7UJ8pqg
LFxt1y38P/Pdb80E4AAAADZ2l0AAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5
AAAAQLE5UQNmQJoxLr/8Hd6qoIbXrHqs/v7A//qBU6HMmGN/i8QTT7rh9lCWQ13dy3gSnx
bOL5cWM84MMM6nrp4Ovw8=
-----END SSH SIGNATURE-----
`,
}

describe('an SSH signature', () => {
  it('is parsed as OpenSSH writes it', async () => {
    expect(readSshSignature(OF_OPENSSH.signature)).toMatchObject({
      fingerprint: readSshKey(OF_OPENSSH.key).fingerprint,
      namespace: 'git',
      hashAlgorithm: 'sha512',
    })
    expect(await check(OF_OPENSSH.signature)).toBe(true)
    expect(await check(OF_OPENSSH.signature.replaceAll('\n', '\r\n').trim())).toBe(true)
  })

  it.each(SSH_KEY_TYPES)('by a key of the type %s is valid for its own text only', async (type) => {
    const { sign, line } = signerOf(type)
    expect(readSshSignature(sign(TEXT))?.fingerprint).toBe(readSshKey(line).fingerprint)
    // Some numbers are shorter than the curve's coordinates.
    for (let round = 0; round < 20; round++) expect(await check(sign(TEXT))).toBe(true)
    expect(await check(sign(TEXT), `${TEXT} `)).toBe(false)
    expect(await check(sign(''), '')).toBe(true)
  })

  it.each<[string, SshKeyType, Partial<HowToSign>]>([
    ['with a text hashed by SHA-256', 'ssh-ed25519', { hashAlgorithm: 'sha256' }],
    ['by RSA with SHA-256', 'ssh-rsa', { scheme: 'rsa-sha2-256' }],
    ['with something that is reserved', 'ssh-ed25519', { reserved: 'for later' }],
    [
      'by a security key that nobody touched',
      'sk-ssh-ed25519@openssh.com',
      { flags: 0, counter: 2 ** 32 - 1 },
    ],
  ])('may be one %s', async (_, type, how) => {
    expect(await check(signerOf(type).sign(TEXT, how))).toBe(true)
  })

  it.each<[string, SshKeyType, Partial<HowToSign>]>([
    ['for another purpose', 'ssh-ed25519', { namespace: 'file' }],
    ['for no purpose', 'ssh-ed25519', { namespace: '' }],
    ['with a weak hash', 'ssh-ed25519', { hashAlgorithm: 'sha1' }],
    ['by RSA with SHA-1', 'ssh-rsa', { scheme: 'ssh-rsa', digest: 'sha1' }],
    [
      'by RSA with another hash than it says',
      'ssh-rsa',
      { scheme: 'rsa-sha2-256', digest: 'sha512' },
    ],
    ['by a scheme of another type of keys', 'ssh-ed25519', { scheme: 'rsa-sha2-512' }],
    ['by a scheme that nobody knows', 'ssh-ed25519', { scheme: 'constructor' }],
    ['by the scheme of a security key', 'ssh-ed25519', { scheme: 'sk-ssh-ed25519@openssh.com' }],
    ['by another key', 'ssh-ed25519', { blob: newSshSigner('ssh-ed25519').blob }],
    ['by a key of another type', 'ssh-ed25519', { blob: newSshSigner('ecdsa-sha2-nistp256').blob }],
    ['by a key that is none', 'ssh-ed25519', { blob: Buffer.from('key') }],
    [
      'by a curve of another length',
      'ecdsa-sha2-nistp384',
      { blob: newSshSigner('ecdsa-sha2-nistp256').blob },
    ],
    ['with another counter than was signed', 'sk-ssh-ed25519@openssh.com', { sentCounter: 8 }],
    ['for another application', 'sk-ssh-ed25519@openssh.com', { blob: otherApplication() }],
  ])('is invalid if it is one %s', async (_, type, how) => {
    expect(await check(signerOf(type).sign(TEXT, how))).toBe(false)
  })

  it.each<[string, string]>([
    ['of another version', signerOf('ssh-ed25519').sign(TEXT, { version: 2 })],
    ['of another format', signerOf('ssh-ed25519').sign(TEXT, { magic: 'SSHSIH' })],
    [
      'with something behind it',
      signerOf('ssh-ed25519').sign(TEXT, { rest: Buffer.from([0, 0, 0, 0]) }),
    ],
    ['with something behind its armor', `${signerOf('ssh-ed25519').sign(TEXT)}more`],
    ['twice', signerOf('ssh-ed25519').sign(TEXT).repeat(2)],
    ['that is too long', armor(Buffer.alloc(8192))],
    ['of OpenPGP', '-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----'],
    ['that is empty', ''],
  ])('is refused if it is one %s', (_, armored) => {
    expect(readSshSignature(armored)).toBeUndefined()
  })

  it.each<SshKeyType>(['ssh-ed25519', 'sk-ecdsa-sha2-nistp256@openssh.com'])(
    'by a key of the type %s is invalid if a byte is missing or changed',
    async (type) => {
      const whole = signerOf(type).sign(TEXT)
      const [, base64 = ''] = /-\n([^-]+)\n-/.exec(whole) ?? []
      const bytes = Buffer.from(base64, 'base64')
      for (let at = 0; at < bytes.length; at++) {
        expect(await check(armor(bytes.subarray(0, at)))).not.toBe(true)
        const changed = Buffer.from(bytes)
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
        // It may be valid for a different key.
        const isByAnother =
          readSshSignature(armor(changed))?.fingerprint !== readSshSignature(whole)?.fingerprint
        if (!isByAnother) expect(await check(armor(changed))).not.toBe(true)
      }
    },
  )
})

/** Returns the signer's key with another application name. */
function otherApplication(): Buffer {
  const { blob } = signerOf('sk-ssh-ed25519@openssh.com')
  return Buffer.concat([blob.subarray(0, -4), Buffer.from('SSH:')])
}

const folder = mkdtempSync(join(tmpdir(), 'branchline-ssh-signatures-'))
afterAll(() => rmSync(folder, { recursive: true }))

const isOpenSshHere = (() => {
  try {
    execFileSync('ssh-keygen', ['-A', '-f', folder])
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
  return true
})()

describe.skipIf(!isOpenSshHere)('a signature of OpenSSH (skipped without ssh-keygen)', () => {
  it.each([
    ['ed25519', []],
    ['ecdsa', ['-b', '256']],
    ['ecdsa', ['-b', '384']],
    ['ecdsa', ['-b', '521']],
    ['rsa', ['-b', '3072']],
  ])('by a key of the type %s %j is valid', async (type, bits) => {
    const key = join(folder, `${type}${bits.join('')}`)
    execFileSync('ssh-keygen', ['-q', '-t', type, ...bits, '-N', '', '-f', key])
    for (const hash of ['sha256', 'sha512']) {
      const armored = execFileSync(
        'ssh-keygen',
        ['-Y', 'sign', '-n', 'git', '-O', `hashalg=${hash}`, '-f', key],
        {
          input: TEXT,
          encoding: 'utf8',
        },
      )
      expect(await check(armored)).toBe(true)
      expect(await check(armored, 'something else')).toBe(false)
      expect(readSshSignature(armored)?.fingerprint).toBe(
        readSshKey(readFileSync(`${key}.pub`, 'utf8')).fingerprint,
      )
    }
  })

  it('has the same form as those of these tests', () => {
    for (const type of SSH_KEY_TYPES) {
      const { line, sign } = signerOf(type)
      const [signers, signature] = [join(folder, 'signers'), join(folder, 'signature')]
      writeFileSync(signers, `ada ${line}\n`)
      writeFileSync(signature, sign(TEXT))
      execFileSync(
        'ssh-keygen',
        ['-Y', 'verify', '-n', 'git', '-I', 'ada', '-f', signers, '-s', signature],
        {
          input: TEXT,
        },
      )
    }
  })
})
