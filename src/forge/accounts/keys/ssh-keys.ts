import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { promisify } from 'node:util'
import sshpk from 'sshpk'
import { DomainError } from '../../core/errors.ts'

/** A parsed SSH public key. */
interface SshKey {
  /** Type, base64 and comment, as in a line of `authorized_keys`. */
  readonly line: string
  /** Type and base64. */
  readonly lineWithoutComment: string
  /** `SHA256:` and base64, as OpenSSH prints it. */
  readonly fingerprint: string
}

/**
 * The longest RSA key that OpenSSH accepts has 2.8 KB of base64. Longer lines have a long comment.
 */
const MAX_LINE_CHARACTERS = 4096

/** Shorter keys can be broken (NIST SP 800-57 part 1, table 2). */
const MIN_RSA_BITS = 2048
/** SSHBUF_MAX_BIGNUM of OpenSSH. */
const MAX_RSA_BITS = 16_384

/**
 * Type, base64 and comment, as in a file that ends in `.pub` (sshd(8), "AUTHORIZED_KEYS FILE
 * FORMAT").
 */
const LINE = /^([a-z0-9@.-]{1,64})[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t]+([^\p{Cc}]*))?$/u

/** Supported key types with the type of their signature algorithm. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['ssh-ed25519', 'ssh-ed25519'],
  ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp256'],
  ['ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp384'],
  ['ecdsa-sha2-nistp521', 'ecdsa-sha2-nistp521'],
  ['ssh-rsa', 'ssh-rsa'],
  ['sk-ssh-ed25519@openssh.com', 'ssh-ed25519'],
  ['sk-ecdsa-sha2-nistp256@openssh.com', 'ecdsa-sha2-nistp256'],
])

/** Parses a public key in the format of OpenSSH. */
export function readSshKey(text: string): SshKey {
  if (text.length > MAX_LINE_CHARACTERS)
    throw invalid(`it is longer than ${MAX_LINE_CHARACTERS} characters`)
  if (text.includes('PRIVATE KEY'))
    throw invalid('this is a private key, which must be kept secret')
  const [, type = '', base64 = '', comment = ''] = LINE.exec(text.trim()) ?? []
  if (type === '') throw invalid('it is not a line with a type, base64 and an optional comment')
  const plainType = TYPES.get(type)
  if (plainType === undefined) throw invalid(`keys of the type ${type} are not supported`)
  const blob = Buffer.from(base64, 'base64')
  const parts = readStrings(blob)
  if (parts[0]?.toString() !== type) throw misfit()
  checkMaterial(type === plainType ? blob : withoutApplication(parts, plainType), plainType)
  const lineWithoutComment = `${type} ${blob.toString('base64')}`
  return {
    line: `${lineWithoutComment} ${comment.trim()}`.trim(),
    lineWithoutComment,
    fingerprint: fingerprintOf(blob),
  }
}

/**
 * Returns the fingerprint of a key in the form of RFC 4253, section 6.6, as OpenSSH prints it:
 * `SHA256:` and base64.
 */
export function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}

/**
 * Converts the key of a security key to the plain form of its algorithm. The two differ in the type
 * and in the application name at the end (OpenSSH, PROTOCOL.u2f, "SSH U2F Key formats").
 */
function withoutApplication(parts: readonly Buffer[], plainType: string): Buffer {
  return writeStrings([Buffer.from(plainType), ...parts.slice(1, -1)])
}

/** Checks a key in the form of RFC 4253, section 6.6. */
function checkMaterial(blob: Buffer, type: string): void {
  const key = parse(blob)
  // If sshpk corrects the key, its fingerprint differs from that of the input.
  if (!key?.toBuffer('rfc4253').equals(blob)) throw misfit()
  if (key.type === 'rsa' && (key.size < MIN_RSA_BITS || key.size > MAX_RSA_BITS)) {
    throw invalid(
      `an RSA key has ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits, but this one has ${key.size}`,
    )
  }
  if (!isSound(key)) throw invalid(`it is not a valid ${type} key`)
}

function parse(blob: Buffer): sshpk.Key | undefined {
  try {
    return sshpk.parseKey(blob, 'rfc4253')
  } catch {
    return undefined
  }
}

/**
 * Returns whether OpenSSL accepts the key. Unlike sshpk, it checks that a point is on its curve.
 */
function isSound(key: sshpk.Key): boolean {
  try {
    createPublicKey(key.toString('pem'))
    return true
  } catch {
    return false
  }
}

function misfit(): DomainError {
  return invalid('its content does not match its type')
}

function invalid(problem: string): DomainError {
  return new DomainError('INVALID_SSH_KEY', { problem })
}

/** A signature of a text, as created by `ssh-keygen -Y sign` (OpenSSH, PROTOCOL.sshsig). */
export interface SshSignature {
  /** Of the key that allegedly made the signature, as in `SshKey`. */
  readonly fingerprint: string
  /** That key in the form of RFC 4253, section 6.6, not validated. */
  readonly publicKey: Buffer
  /** The purpose of the text. */
  readonly namespace: string
  /** For later versions of the format; included in the signed data. */
  readonly reserved: Buffer
  /** Hash algorithm of the text. */
  readonly hashAlgorithm: string
  /** As in RFC 4253, section 6.6. A security key appends flags and a counter. */
  readonly signature: Buffer
}

/** An armored key and signature of the longest RSA key take 6 KB. */
const MAX_ARMORED_CHARACTERS = 8192

const ARMOR =
  /^-----BEGIN SSH SIGNATURE-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END SSH SIGNATURE-----\s*$/

const MAGIC = Buffer.from('SSHSIG')
const VERSION = 1

/** The hash algorithms that PROTOCOL.sshsig allows. */
const HASH_ALGORITHMS: ReadonlySet<string> = new Set(['sha256', 'sha512'])

/** A signature scheme. */
interface Scheme {
  readonly keyType: string
  readonly family: 'ed25519' | 'ecdsa' | 'rsa'
  /** Hash algorithm of the signed data; null if the scheme defines one. */
  readonly hash: string | null
  /**
   * Whether a device holds the key. It signs additional data (OpenSSH, PROTOCOL.u2f, "SSH U2F
   * Signatures").
   */
  readonly isOnDevice: boolean
}

const plain = (keyType: string, family: Scheme['family'], hash: string | null): Scheme => ({
  keyType,
  family,
  hash,
  isOnDevice: false,
})

/**
 * Schemes by signature type. `ssh-rsa` is missing because it uses SHA-1 and PROTOCOL.sshsig forbids
 * it.
 */
const SCHEMES: ReadonlyMap<string, Scheme> = new Map([
  ['ssh-ed25519', plain('ssh-ed25519', 'ed25519', null)],
  ['ecdsa-sha2-nistp256', plain('ecdsa-sha2-nistp256', 'ecdsa', 'sha256')],
  ['ecdsa-sha2-nistp384', plain('ecdsa-sha2-nistp384', 'ecdsa', 'sha384')],
  ['ecdsa-sha2-nistp521', plain('ecdsa-sha2-nistp521', 'ecdsa', 'sha512')],
  ['rsa-sha2-256', plain('ssh-rsa', 'rsa', 'sha256')],
  ['rsa-sha2-512', plain('ssh-rsa', 'rsa', 'sha512')],
  [
    'sk-ssh-ed25519@openssh.com',
    { keyType: 'sk-ssh-ed25519@openssh.com', family: 'ed25519', hash: null, isOnDevice: true },
  ],
  [
    'sk-ecdsa-sha2-nistp256@openssh.com',
    {
      keyType: 'sk-ecdsa-sha2-nistp256@openssh.com',
      family: 'ecdsa',
      hash: 'sha256',
      isOnDevice: true,
    },
  ],
])

/**
 * Curves by their name in keys, each with its name in a JSON Web Key and the size of a coordinate
 * in bytes.
 */
const CURVES: ReadonlyMap<string, readonly [crv: string, bytes: number]> = new Map([
  ['nistp256', ['P-256', 32]],
  ['nistp384', ['P-384', 48]],
  ['nistp521', ['P-521', 66]],
])

/** One byte of flags and a counter of four bytes. */
const DEVICE_BYTES = 5

/** Runs on OpenSSL's threads, so that long RSA keys do not block the event loop. */
const verifyApart = promisify(verify)

/** Parses an armored signature; undefined if it is invalid. */
export function readSshSignature(armored: string): SshSignature | undefined {
  if (armored.length > MAX_ARMORED_CHARACTERS) return undefined
  const [, base64] = ARMOR.exec(armored) ?? []
  const bytes = Buffer.from(base64 ?? '', 'base64')
  const start = MAGIC.length + 4
  if (bytes.length < start || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined
  if (bytes.readUInt32BE(MAGIC.length) !== VERSION) return undefined
  const [publicKey, namespace, reserved, hashAlgorithm, signature, ...rest] = readStrings(
    bytes.subarray(start),
  )
  if (!publicKey || !namespace || !reserved || !hashAlgorithm || !signature || rest.length > 0)
    return undefined
  return {
    fingerprint: fingerprintOf(publicKey),
    publicKey,
    namespace: namespace.toString(),
    reserved,
    hashAlgorithm: hashAlgorithm.toString(),
    signature,
  }
}

/**
 * Returns whether a signature of a text for a purpose was made by the key that it contains. The
 * caller checks by the fingerprint that the key is valid and whose it is.
 *
 * Like ssh-keygen(1), this does not require that a user touched the security key.
 */
export async function isSshSignatureOf(
  signature: SshSignature,
  namespace: string,
  text: Buffer,
): Promise<boolean> {
  if (signature.namespace !== namespace || !HASH_ALGORITHMS.has(signature.hashAlgorithm))
    return false
  const [keyType, ...numbers] = readStrings(signature.publicKey)
  const deviceStart = signature.signature.length - DEVICE_BYTES
  const isOnDevice = keyType?.subarray(0, 3).toString() === 'sk-'
  if (isOnDevice && deviceStart < 0) return false
  const named = isOnDevice ? signature.signature.subarray(0, deviceStart) : signature.signature
  const [name, value, ...rest] = readStrings(named)
  const scheme = SCHEMES.get(name?.toString() ?? '')
  if (!scheme || !value || rest.length > 0 || scheme.keyType !== keyType?.toString()) return false
  const statement = statementOf(signature, text)
  const signed = scheme.isOnDevice
    ? Buffer.concat([
        sha256(numbers.at(-1)),
        signature.signature.subarray(deviceStart),
        sha256(statement),
      ])
    : statement
  try {
    const encoded = scheme.family === 'ecdsa' ? pointOf(value, numbers[0]) : value
    const key = { key: keyOf(scheme, numbers), dsaEncoding: 'ieee-p1363' as const }
    return await verifyApart(scheme.hash, signed, key, encoded)
  } catch {
    // An error means that the signature proves nothing.
    return false
  }
}

/** Line length of armor, as in OpenSSH. */
const ARMOR_WIDTH = 70

/**
 * Signs a text for a purpose with an Ed25519 key, as `ssh-keygen -Y sign` does.
 *
 * @param publicKey in the form of RFC 4253, section 6.6.
 * @returns the armored signature.
 */
export function signAsSsh(
  privateKey: KeyObject,
  publicKey: Buffer,
  namespace: string,
  text: Buffer,
): string {
  const head = { namespace, reserved: EMPTY, hashAlgorithm: 'sha512' }
  const value = sign(null, statementOf(head, text), privateKey)
  const version = Buffer.alloc(4)
  version.writeUInt32BE(VERSION)
  const signature = writeStrings([Buffer.from('ssh-ed25519'), value])
  const parts = [
    publicKey,
    Buffer.from(namespace),
    head.reserved,
    Buffer.from(head.hashAlgorithm),
    signature,
  ]
  const base64 = Buffer.concat([MAGIC, version, writeStrings(parts)]).toString('base64')
  const lines = base64.replace(new RegExp(`.{1,${ARMOR_WIDTH}}`, 'g'), '$&\n')
  return `-----BEGIN SSH SIGNATURE-----\n${lines}-----END SSH SIGNATURE-----\n`
}

/**
 * Returns the data to sign for a text (PROTOCOL.sshsig, "Signed Data, of which the signature goes
 * into the blob above").
 */
function statementOf(
  {
    namespace,
    reserved,
    hashAlgorithm,
  }: Pick<SshSignature, 'namespace' | 'reserved' | 'hashAlgorithm'>,
  text: Buffer,
): Buffer {
  const hash = createHash(hashAlgorithm).update(text).digest()
  return Buffer.concat([
    MAGIC,
    writeStrings([Buffer.from(namespace), reserved, Buffer.from(hashAlgorithm), hash]),
  ])
}

/**
 * Creates a public key from the fields after the type in its SSH form (RFC 4253, section 6.6; RFC
 * 5656, section 3.1; RFC 8709, section 4).
 */
function keyOf({ family }: Scheme, [first = EMPTY, second = EMPTY]: readonly Buffer[]): KeyObject {
  if (family === 'ed25519') return keyFrom({ kty: 'OKP', crv: 'Ed25519', x: base64url(first) })
  if (family === 'rsa')
    return keyFrom({ kty: 'RSA', e: base64url(unsigned(first)), n: base64url(unsigned(second)) })
  const [crv, bytes] = curveOf(first)
  // The first byte says that both coordinates follow (SEC 1, section 2.3.3).
  const [x, y] = [second.subarray(1, 1 + bytes), second.subarray(1 + bytes)]
  return keyFrom({ kty: 'EC', crv, x: base64url(x), y: base64url(y) })
}

const EMPTY: Buffer = Buffer.alloc(0)

function keyFrom(key: Record<string, string>): KeyObject {
  return createPublicKey({ key, format: 'jwk' })
}

/** Converts the two numbers of RFC 5656, section 3.1.2 to the coordinate length of the curve. */
function pointOf(value: Buffer, curve = EMPTY): Buffer {
  const [, bytes] = curveOf(curve)
  return Buffer.concat(
    readStrings(value).map((number) => {
      const digits = unsigned(number)
      if (digits.length > bytes) throw new RangeError('a number beyond its curve')
      return Buffer.concat([Buffer.alloc(bytes - digits.length), digits])
    }),
  )
}

function curveOf(name: Buffer): readonly [crv: string, bytes: number] {
  const curve = CURVES.get(name.toString())
  if (!curve) throw new RangeError('a curve that is not known')
  return curve
}

/** Removes the leading zero that keeps a number positive (RFC 4251, section 5, `mpint`). */
function unsigned(number: Buffer): Buffer {
  return number[0] === 0 ? number.subarray(1) : number
}

function base64url(bytes: Buffer): string {
  return bytes.toString('base64url')
}

function sha256(bytes = EMPTY): Buffer {
  return createHash('sha256').update(bytes).digest()
}

/**
 * Parses consecutive length-prefixed strings (RFC 4251, section 5); empty if the bytes are invalid.
 */
function readStrings(bytes: Buffer): Buffer[] {
  const strings: Buffer[] = []
  let at = 0
  while (at < bytes.length) {
    const end = at + 4 <= bytes.length ? at + 4 + bytes.readUInt32BE(at) : Number.POSITIVE_INFINITY
    if (end > bytes.length) return []
    strings.push(bytes.subarray(at + 4, end))
    at = end
  }
  return strings
}

/** Writes consecutive length-prefixed strings (RFC 4251, section 5). */
export function writeStrings(strings: readonly Buffer[]): Buffer {
  return Buffer.concat(
    strings.flatMap((bytes) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  )
}
