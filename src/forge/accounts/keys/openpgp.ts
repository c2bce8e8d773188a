import {
  createMessage,
  enums,
  type Key,
  PacketList,
  type PublicKey,
  readKey,
  readKeys,
  readSignature,
  type Signature,
  type SignaturePacket,
  type Subkey,
  verify,
} from 'openpgp'
import { DomainError } from '../../core/errors.ts'

/** A parsed OpenPGP public key. Valid self-signatures bind its parts together. */
interface OpenPgpKey {
  readonly primary: OpenPgpKeyPart
  /** The subkeys that are not revoked. */
  readonly subkeys: readonly OpenPgpKeyPart[]
  /** The addresses of the user ids that are not revoked, in order. */
  readonly emails: readonly string[]
  /** The transferable public key (RFC 9580, section 10.1), without third-party signatures. */
  readonly certificate: Buffer
}

/** A primary key or subkey. */
export interface OpenPgpKeyPart {
  /** 16 hexadecimal digits in upper case. */
  readonly keyId: string
  /** Hexadecimal digits in lower case. */
  readonly fingerprint: string
  /** The packet in base64. */
  readonly packet: string
  /** The sum of some `KEY_FLAGS`. */
  readonly flags: number
  /** Unix seconds. */
  readonly createTime: number
  /** Unix seconds; null if the key does not expire. */
  readonly expireTime: number | null
}

/** RFC 9580, section 5.2.3.29. */
export const KEY_FLAGS = { certify: 1, sign: 2, encryptComms: 4, encryptStorage: 8 } as const

/**
 * Ten user ids and ten subkeys with RSA signatures take a fifth of this. Larger keys carry pictures
 * or many third-party signatures.
 */
const MAX_ARMORED_BYTES = 64 * 1024

/**
 * Maximum number of user ids, subkeys and self-signatures, each of which takes up to a millisecond.
 */
const MAX_PARTS = 100

const MIN_RSA_BITS = 2048
/** OpenSSL does not verify signatures of longer keys. */
const MAX_RSA_BITS = 16_384

/**
 * Algorithms of keys that sign. OpenSSL verifies all of these on its own threads. JavaScript would
 * verify others and block the event loop for milliseconds each.
 */
const SIGNING: ReadonlySet<string> = new Set([
  'rsaEncryptSign',
  'rsaSign',
  'ecdsa',
  'eddsaLegacy',
  'ed25519',
])
const CURVES: ReadonlySet<string> = new Set(['nistP256', 'nistP384', 'nistP521', 'ed25519Legacy'])

/** Further algorithms that subkeys may have. They are not used. */
const ENCRYPTING: ReadonlySet<string> = new Set(['rsaEncrypt', 'elgamal', 'ecdh', 'x25519', 'x448'])

/** An armored signature of the longest RSA key takes 3 KB. */
const MAX_SIGNATURE_CHARACTERS = 8192

/**
 * Parses an armored public key. An expired key is accepted, since its earlier signatures remain
 * valid.
 */
export async function readOpenPgpKey(armored: string): Promise<OpenPgpKey> {
  if (Buffer.byteLength(armored) > MAX_ARMORED_BYTES)
    throw invalid(`it is longer than ${MAX_ARMORED_BYTES} bytes`)
  const key = await parseKey(armored)
  for (const user of key.users) user.otherCertifications = []
  const parts = key.toPacketList().length
  if (parts > MAX_PARTS) {
    throw invalid(
      `it has ${parts} names, subkeys and signatures, and at most ${MAX_PARTS} are read`,
    )
  }
  checkAlgorithms(key)
  const selfSignature = await selfSignatureOf(key)
  if (await key.isRevoked(undefined, undefined, ANY_TIME)) throw invalid('it is revoked')
  return {
    primary: describe(key, selfSignature, await key.getExpirationTime()),
    subkeys: await subkeysOf(key),
    emails: await emailsOf(key),
    certificate: Buffer.from(key.write()),
  }
}

/**
 * Returns whether a key, or a signing subkey, made a detached signature of one of some texts.
 *
 * @param certificate as in `OpenPgpKey`.
 * @param nowMs Unix milliseconds. Signatures made later are not valid yet.
 */
export async function hasSigned(
  certificate: Buffer,
  armoredSignature: string,
  texts: readonly string[],
  nowMs: number,
): Promise<boolean> {
  if (armoredSignature.length > MAX_SIGNATURE_CHARACTERS) return false
  const verificationKeys = await readKey({ binaryKey: certificate })
  try {
    for (const text of texts) {
      const message = await createMessage({ binary: Buffer.from(text) })
      const signature = await readSignature({ armoredSignature })
      if (signature.packets.length !== 1) return false
      const { signatures } = await verify({
        message,
        signature,
        verificationKeys,
        date: new Date(nowMs),
        format: 'binary',
      })
      if (await signatures[0]?.verified.catch(() => false)) return true
    }
  } catch {
    // An error means that the signature proves nothing.
  }
  return false
}

/** The library accepts null for the time of signing, but the types of some functions omit it. */
const ANY_TIME = null as unknown as Date

async function parseKey(armored: string): Promise<PublicKey> {
  // Checked before parsing. Other forms of private keys are refused below.
  if (armored.includes('PRIVATE KEY'))
    throw invalid('this is a private key, which must be kept secret')
  let keys: Key[]
  try {
    keys = await readKeys({ armoredKeys: armored })
  } catch {
    throw invalid('it is not an armored OpenPGP public key')
  }
  const [key] = keys
  if (!key || keys.length > 1) throw invalid(`it has ${keys.length} keys; add them separately`)
  if (key.isPrivate()) throw invalid('this is a private key, which must be kept secret')
  return key
}

function checkAlgorithms(key: Key): void {
  checkAlgorithm(key, false)
  for (const subkey of key.subkeys) checkAlgorithm(subkey, true)
}

function checkAlgorithm(part: Key | Subkey, mayEncryptOnly: boolean): void {
  const { algorithm, bits, curve } = part.getAlgorithmInfo()
  if (mayEncryptOnly && ENCRYPTING.has(algorithm)) return
  if (!SIGNING.has(algorithm) || (curve !== undefined && !CURVES.has(curve))) {
    throw invalid(`keys of the kind ${[algorithm, curve].join(' ').trim()} are not supported`)
  }
  if (bits !== undefined && (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS)) {
    throw invalid(
      `an RSA key has ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits, but this one has ${bits}`,
    )
  }
}

async function selfSignatureOf(key: Key): Promise<SignaturePacket> {
  try {
    const { selfCertification } = await key.getPrimaryUser(ANY_TIME)
    return selfCertification
  } catch {
    throw invalid('it has no self-signed user id')
  }
}

/** Returns the subkeys with a valid binding signature that are not revoked. */
async function subkeysOf(key: Key): Promise<OpenPgpKeyPart[]> {
  const parts: OpenPgpKeyPart[] = []
  for (const subkey of key.subkeys) {
    const binding = await subkey.verify(ANY_TIME).catch(() => undefined)
    if (!binding) continue
    const part = describe(subkey, binding, await subkey.getExpirationTime(ANY_TIME))
    parts.push(
      (await signsFor(key, subkey)) ? part : { ...part, flags: part.flags & ~KEY_FLAGS.sign },
    )
  }
  return parts
}

/**
 * Returns whether a signing subkey confirms the binding with a signature of its own. Otherwise, a
 * key could claim another person's subkey, and signatures of the subkey would be attributed to the
 * wrong person (RFC 9580, section 5.2.1.8).
 */
async function signsFor(key: Key, subkey: Subkey): Promise<boolean> {
  const found = await key.getSigningKey(subkey.getKeyID(), null).catch(() => undefined)
  return found === subkey
}

async function emailsOf(key: Key): Promise<string[]> {
  const emails = new Set<string>()
  for (const user of key.users) {
    const email = user.userID?.email
    if (email && (await user.verify(ANY_TIME).catch(() => false))) emails.add(email)
  }
  return [...emails]
}

function describe(
  part: Key | Subkey,
  signature: SignaturePacket,
  expiry: Date | number | null,
): OpenPgpKeyPart {
  const packets = new PacketList()
  packets.push(part.keyPacket)
  return {
    keyId: part.getKeyID().toHex().toUpperCase(),
    fingerprint: part.getFingerprint(),
    packet: Buffer.from(packets.write()).toString('base64'),
    flags: signature.keyFlags?.[0] ?? flagsOf(part.getAlgorithmInfo().algorithm),
    createTime: Math.floor(part.getCreationTime().getTime() / 1000),
    expireTime: expiry instanceof Date ? Math.floor(expiry.getTime() / 1000) : null,
  }
}

/** Returns the default flags of a key without key flags: everything that its algorithm supports. */
function flagsOf(algorithm: string): number {
  const signs = SIGNING.has(algorithm) ? KEY_FLAGS.certify | KEY_FLAGS.sign : 0
  const encrypts =
    algorithm === 'rsaEncryptSign' || ENCRYPTING.has(algorithm)
      ? KEY_FLAGS.encryptComms | KEY_FLAGS.encryptStorage
      : 0
  return signs | encrypts
}

function invalid(problem: string): DomainError {
  return new DomainError('INVALID_GPG_KEY', { problem })
}

/** A detached signature of a text by one key. */
export interface OpenPgpSignature {
  /**
   * Of the key or subkey that allegedly made the signature: 16 hexadecimal digits in upper case.
   */
  readonly keyId: string
  /** Unix milliseconds. */
  readonly createTime: number
  /** Unix milliseconds; infinite if the signature does not expire. */
  readonly expireTime: number
  readonly armored: string
}

/** A key prepared for verifying signatures. It caches the verification of its own parts. */
export type OpenPgpCertificate = PublicKey

/** An armored signature of the longest RSA key takes 3 KB. */
const MAX_ARMORED_CHARACTERS = 8192

const BEGINNING = '-----BEGIN PGP SIGNATURE-----'
const END = '-----END PGP SIGNATURE-----'

/** The types of signatures of texts, as opposed to keys (RFC 9580, section 5.2.1). */
const OF_TEXTS: ReadonlySet<number | null> = new Set([enums.signature.binary, enums.signature.text])

/** Parses an armored signature; undefined if it is invalid. */
export async function readOpenPgpSignature(armored: string): Promise<OpenPgpSignature | undefined> {
  if (armored.length > MAX_ARMORED_CHARACTERS || !isOneBlock(armored)) return undefined
  const signature = await parseSignature(armored)
  const [packet, ...others] = signature?.packets ?? []
  if (!packet?.created || others.length > 0 || !OF_TEXTS.has(packet.signatureType)) return undefined
  return {
    keyId: packet.issuerKeyID.toHex().toUpperCase(),
    createTime: packet.created.getTime(),
    expireTime: Number(packet.getExpirationTime()),
    armored,
  }
}

/**
 * Returns whether a text consists of a single armor block. Text after the block would not be part
 * of the signature.
 */
function isOneBlock(armored: string): boolean {
  const text = armored.trimEnd()
  const end = text.indexOf('-----', BEGINNING.length)
  return text.startsWith(BEGINNING) && text.endsWith(END) && end === text.length - END.length
}

async function parseSignature(armoredSignature: string): Promise<Signature | undefined> {
  try {
    return await readSignature({ armoredSignature })
  } catch {
    return undefined
  }
}

/**
 * Prepares a key for verifying signatures.
 *
 * @param certificate as in `OpenPgpKey`.
 */
export function openCertificate(certificate: Buffer): Promise<OpenPgpCertificate> {
  return readKey({ binaryKey: certificate })
}

/**
 * Returns whether a key or one of its signing subkeys made a signature of a text, and was neither
 * expired nor revoked at that time. The result does not depend on the current time. The caller
 * checks the expiry of the signature.
 *
 * When the expiry of a key is extended, new self-signatures replace the old ones. Earlier
 * signatures are therefore checked as of the time of the latest self-signature.
 */
export async function isOpenPgpSignatureOf(
  { armored, createTime }: OpenPgpSignature,
  certificate: Promise<OpenPgpCertificate>,
  text: Buffer,
): Promise<boolean> {
  try {
    const verificationKeys = await certificate
    const { signatures } = await verify({
      message: await createMessage({ binary: text }),
      // Parsed again because the object caches its verification result.
      signature: await readSignature({ armoredSignature: armored }),
      verificationKeys,
      date: new Date(Math.max(createTime, lastSelfSignature(verificationKeys))),
      format: 'binary',
      config: { allowInsecureVerificationWithReformattedKeys: true },
    })
    return (await signatures[0]?.verified) ?? false
  } catch {
    // An error means that the signature proves nothing.
    return false
  }
}

/** Returns the time of a key's latest self-signature in Unix milliseconds. */
function lastSelfSignature({ users, subkeys }: OpenPgpCertificate): number {
  const own = [
    ...users.flatMap(({ selfCertifications }) => selfCertifications),
    ...subkeys.flatMap(({ bindingSignatures }) => bindingSignatures),
  ]
  return Math.max(0, ...own.map(({ created }) => created?.getTime() ?? 0))
}
