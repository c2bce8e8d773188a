import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { writeStrings } from '../../src/platform/ssh/ssh-signatures.ts'

/** A key pair that signs as `ssh-keygen -Y sign` does, whatever it is asked to. */
export interface SshSigner {
  /** Of the public key, in the form of RFC 4253, section 6.6. */
  readonly blob: Buffer
  /** As in a file that ends in `.pub`. */
  readonly line: string
  sign(text: string | Buffer, how?: Partial<HowToSign>): string
  /** Signs data as in RFC 4253, section 6.6. */
  signData(data: Buffer, how?: Pick<Partial<HowToSign>, 'flags'>): Buffer
}

export interface HowToSign {
  readonly namespace: string
  readonly reserved: string
  readonly hashAlgorithm: string
  /** Name of the scheme, in place of the usual one. */
  readonly scheme: string
  /** Digest that RSA signs, in place of the one that goes with the scheme. */
  readonly digest: string
  /** Put in place of the key. */
  readonly blob: Buffer
  readonly version: number
  readonly magic: string
  /** Behind everything else. */
  readonly rest: Buffer
  /** Of a security key. */
  readonly flags: number
  readonly counter: number
  /** Changes what a security key sends after it signed. */
  readonly sentCounter: number
}

export const SSH_KEY_TYPES = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
] as const

export type SshKeyType = (typeof SSH_KEY_TYPES)[number]

/** Makes a key pair of a type. */
export function newSshSigner(type: SshKeyType): SshSigner {
  const isOnDevice = type.startsWith('sk-')
  const { privateKey, publicKey } = pairOf(type)
  const application = Buffer.from('ssh:')
  const blob = writeStrings([
    Buffer.from(type),
    ...numbersOf(type, publicKey),
    ...(isOnDevice ? [application] : []),
  ])
  return {
    blob,
    signData(data, how = {}) {
      const device = deviceBytes(how.flags ?? 1, 7)
      const statement = isOnDevice
        ? Buffer.concat([sha256(application), device, sha256(data)])
        : data
      const value = signWith(privateKey, statement, 'sha512')
      const named = writeStrings([Buffer.from(type === 'ssh-rsa' ? 'rsa-sha2-512' : type), value])
      return isOnDevice ? Buffer.concat([named, device]) : named
    },
    line: `${type} ${blob.toString('base64')}`,
    sign(text, how = {}) {
      const {
        namespace = 'git',
        reserved = '',
        hashAlgorithm = 'sha512',
        magic = 'SSHSIG',
        version = 1,
      } = how
      const scheme = how.scheme ?? (type === 'ssh-rsa' ? 'rsa-sha2-512' : type)
      const head = [namespace, reserved, hashAlgorithm].map((part) => Buffer.from(part))
      const digest = createHash(hashAlgorithm).update(text).digest()
      let statement = Buffer.concat([Buffer.from('SSHSIG'), writeStrings([...head, digest])])
      const device = deviceBytes(how.flags ?? 1, how.counter ?? 7)
      if (isOnDevice) statement = Buffer.concat([sha256(application), device, sha256(statement)])
      const value = signWith(
        privateKey,
        statement,
        how.digest ?? (scheme === 'rsa-sha2-256' ? 'sha256' : 'sha512'),
      )
      const sent = isOnDevice
        ? deviceBytes(how.flags ?? 1, how.sentCounter ?? how.counter ?? 7)
        : Buffer.alloc(0)
      const signature = Buffer.concat([writeStrings([Buffer.from(scheme), value]), sent])
      const versionBytes = Buffer.alloc(4)
      versionBytes.writeUInt32BE(version)
      const strings = writeStrings([how.blob ?? blob, ...head, signature])
      return armor(
        Buffer.concat([Buffer.from(magic), versionBytes, strings, how.rest ?? Buffer.alloc(0)]),
      )
    },
  }
}

/** In armor, in lines as OpenSSH breaks them. */
export function armor(bytes: Buffer): string {
  const lines = bytes.toString('base64').replace(/.{1,70}/g, '$&\n')
  return `-----BEGIN SSH SIGNATURE-----\n${lines}-----END SSH SIGNATURE-----\n`
}

function pairOf(type: SshKeyType): {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
} {
  if (type === 'ssh-rsa') return generateKeyPairSync('rsa', { modulusLength: 2048 })
  if (type.includes('ed25519')) return generateKeyPairSync('ed25519')
  return generateKeyPairSync('ec', { namedCurve: `P-${/nistp(\d+)/.exec(type)?.[1]}` })
}

function numbersOf(type: SshKeyType, publicKey: KeyObject): Buffer[] {
  const { n = '', e = '', x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const [first, second] = [x, y].map((text) => Buffer.from(text, 'base64url'))
  if (type === 'ssh-rsa') return [e, n].map((text) => mpint(Buffer.from(text, 'base64url')))
  if (type.includes('ed25519')) return [first ?? Buffer.alloc(0)]
  return [
    Buffer.from(/nistp\d+/.exec(type)?.[0] ?? ''),
    Buffer.concat([Buffer.from([4]), first ?? Buffer.alloc(0), second ?? Buffer.alloc(0)]),
  ]
}

function signWith(key: KeyObject, statement: Buffer, rsaDigest: string): Buffer {
  if (key.asymmetricKeyType === 'ed25519') return sign(null, statement, key)
  if (key.asymmetricKeyType === 'rsa') return sign(rsaDigest, statement, key)
  const digests: Record<string, string> = {
    prime256v1: 'sha256',
    secp384r1: 'sha384',
    secp521r1: 'sha512',
  }
  const digest = digests[key.asymmetricKeyDetails?.namedCurve ?? ''] ?? ''
  const pair = sign(digest, statement, { key, dsaEncoding: 'ieee-p1363' })
  const half = pair.length / 2
  return writeStrings([mpint(pair.subarray(0, half)), mpint(pair.subarray(half))])
}

/** A number that is not negative (RFC 4251, section 5). */
function mpint(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0)
  const digits = bytes.subarray(start)
  return (digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits
}

function deviceBytes(flags: number, counter: number): Buffer {
  const bytes = Buffer.from([flags, 0, 0, 0, 0])
  bytes.writeUInt32BE(counter, 1)
  return bytes
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
