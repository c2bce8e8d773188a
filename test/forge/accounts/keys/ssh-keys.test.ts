import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sshpk from 'sshpk'
import { afterAll, describe, expect, it } from 'vitest'
import { readSshKey } from '../../../../src/forge/accounts/keys/ssh-keys.ts'
import { execFileSync } from '../../../support/programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'branchline-ssh-keys-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns strings of RFC 4251 in base64. */
function wire(...strings: (string | Buffer)[]): string {
  const parts = strings.map((text) => {
    const bytes = Buffer.from(text)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return Buffer.concat([length, bytes])
  })
  return Buffer.concat(parts).toString('base64')
}

const ED25519 = 'AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl'
const point = Buffer.from(ED25519, 'base64').subarray(-32)

/** Returns a public key of Node in the format of OpenSSH. */
function lineOf({ publicKey }: { publicKey: KeyObject }): string {
  return sshpk.parseKey(publicKey.export({ type: 'spki', format: 'pem' }), 'pem').toString('ssh')
}
const rsaLine = (modulusLength: number) => lineOf(generateKeyPairSync('rsa', { modulusLength }))
const ecLine = (namedCurve: string) => lineOf(generateKeyPairSync('ec', { namedCurve }))

describe('an SSH key', () => {
  it('keeps its comment and has single spaces between its parts', () => {
    expect(readSshKey(` ssh-ed25519 \t${ED25519}   bob at   work \r\n`)).toEqual({
      line: `ssh-ed25519 ${ED25519} bob at   work`,
      lineWithoutComment: `ssh-ed25519 ${ED25519}`,
      // The fingerprint that GitHub publishes for this host key.
      fingerprint: 'SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU',
    })
    expect(readSshKey(`ssh-ed25519 ${ED25519}`).line).toBe(`ssh-ed25519 ${ED25519}`)
  })

  it.each([
    ['RSA of 2048 bits', () => rsaLine(2048)],
    ['the curve P-256', () => ecLine('P-256')],
    ['the curve P-384', () => ecLine('P-384')],
    ['the curve P-521', () => ecLine('P-521')],
  ])('may be one of %s', (_, make) => {
    const line = make()
    expect(readSshKey(line).line).toBe(line.trim())
  })

  it('may be held by a security key', () => {
    const ed25519 = wire('sk-ssh-ed25519@openssh.com', point, 'ssh:')
    expect(readSshKey(`sk-ssh-ed25519@openssh.com ${ed25519} bob`).line).toBe(
      `sk-ssh-ed25519@openssh.com ${ed25519} bob`,
    )
    const [, blob = ''] = ecLine('P-256').split(' ')
    const q = Buffer.from(blob, 'base64').subarray(-65)
    const ecdsa = wire('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', q, 'ssh:')
    expect(readSshKey(`sk-ecdsa-sha2-nistp256@openssh.com ${ecdsa}`).fingerprint).toMatch(
      /^SHA256:[\w+/]{43}$/,
    )
  })

  it.each([
    ['nothing', '', 'not a line'],
    ['no base64', 'ssh-ed25519', 'not a line'],
    ['options before the type', `no-pty ssh-ed25519 ${ED25519}`, 'not a line'],
    ['two lines', `ssh-ed25519 ${ED25519}\nssh-ed25519 ${ED25519}`, 'not a line'],
    ['an escape in the comment', `ssh-ed25519 ${ED25519} \u001b[2J`, 'not a line'],
    ['a line that is too long', `ssh-ed25519 ${ED25519} ${'x'.repeat(4096)}`, '4096'],
    [
      'a private key',
      '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END',
      'private key',
    ],
    ['a type of its own', `ssh-ed448 ${ED25519}`, 'ssh-ed448'],
    [
      'a certificate',
      `ssh-ed25519-cert-v01@openssh.com ${ED25519}`,
      'ssh-ed25519-cert-v01@openssh.com',
    ],
    ['DSA', `ssh-dss ${wire('ssh-dss', 'p', 'q', 'g', 'y')}`, 'ssh-dss'],
    ['another type than it says', `ssh-rsa ${ED25519}`, 'does not match'],
    [
      'another curve than it says',
      `ecdsa-sha2-nistp256 ${wire('ecdsa-sha2-nistp256', 'nistp384', 'q')}`,
      'does not match',
    ],
    ['RSA of 1024 bits', rsaLine(1024), '1024'],
    // Not generated, because that takes minutes.
    [
      'RSA of 16392 bits',
      `ssh-rsa ${wire('ssh-rsa', '\u0001\u0000\u0001', Buffer.alloc(2049, 0x7f))}`,
      '16391',
    ],
    [
      'a point that is too short',
      `ssh-ed25519 ${wire('ssh-ed25519', point.subarray(1))}`,
      'does not match',
    ],
    ['bytes behind it', `ssh-ed25519 ${wire('ssh-ed25519', point, 'more')}`, 'does not match'],
    [
      'a length beyond its end',
      `ssh-ed25519 ${Buffer.from('ffffffff00', 'hex').toString('base64')}`,
      'does not match',
    ],
    // sshpk would parse it as a private key and return its public part.
    [
      'private parts',
      `ssh-ed25519 ${wire('ssh-ed25519', point, Buffer.alloc(64, 1))}`,
      'does not match',
    ],
    [
      'a point beside the curve',
      `ecdsa-sha2-nistp256 ${wire('ecdsa-sha2-nistp256', 'nistp256', Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)]))}`,
      'not a valid',
    ],
    [
      'a security key without an application',
      `sk-ssh-ed25519@openssh.com ${wire('sk-ssh-ed25519@openssh.com', point)}`,
      '',
    ],
    [
      'a security key of another type',
      `sk-ssh-ed25519@openssh.com ${wire('ssh-ed25519', point, 'ssh:')}`,
      'does not match',
    ],
  ])('is not %s', (_, text, problem) => {
    expect(() => readSshKey(text)).toThrow(
      expect.objectContaining({
        reason: 'INVALID_SSH_KEY',
        metadata: { problem: expect.stringContaining(problem) },
      }),
    )
  })
})

const isOpenSshHere = (() => {
  try {
    execFileSync('ssh-keygen', ['-A', '-f', folder])
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
  return true
})()

describe.skipIf(!isOpenSshHere)('a key of OpenSSH (skipped without ssh-keygen)', () => {
  it.each(['ed25519', 'ecdsa', 'rsa'])(
    'of the type %s has the fingerprint that OpenSSH prints',
    (type) => {
      const file = join(folder, type)
      execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', 'bob@work', '-f', file])
      const { line: read, fingerprint } = readSshKey(readFileSync(`${file}.pub`, 'utf8'))
      expect(read).toBe(readFileSync(`${file}.pub`, 'utf8').trim())
      const [, printed] = execFileSync('ssh-keygen', ['-l', '-E', 'sha256', '-f', `${file}.pub`], {
        encoding: 'utf8',
      }).split(' ')
      expect(fingerprint).toBe(printed)
    },
  )
})
