import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto'
import sshpk from 'sshpk'
import { isSignatureOf, readStrings, writeStrings } from '../../../platform/ssh/ssh-signatures.ts'
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
  return isSignatureOf(signature.publicKey, signature.signature, statementOf(signature, text))
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

const EMPTY: Buffer = Buffer.alloc(0)
