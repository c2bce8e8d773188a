import {
  createMessage,
  type Key,
  PacketList,
  type PublicKey,
  readKey,
  readKeys,
  readSignature,
  type SignaturePacket,
  type Subkey,
  verify,
} from 'openpgp'
import { DomainError } from '../../core/errors.ts'

/**
 * An OpenPGP public key as it was read, whose parts are bound together by valid signatures of its
 * own.
 */
export interface OpenPgpKey {
  readonly primary: OpenPgpKeyPart
  /** Those that are not revoked. */
  readonly subkeys: readonly OpenPgpKeyPart[]
  /** Addresses of the names that are not revoked, in their order. */
  readonly emails: readonly string[]
  /** The transferable public key (RFC 9580, section 10.1), without signatures of others. */
  readonly certificate: Buffer
}

/** A key that signs or encrypts. */
export interface OpenPgpKeyPart {
  /** 16 hexadecimal digits in upper case. */
  readonly keyId: string
  /** Hexadecimal, in lower case. */
  readonly fingerprint: string
  /** The packet in base64. */
  readonly packet: string
  /** Some of `KEY_FLAGS`, added up. */
  readonly flags: number
  /** Unix seconds. */
  readonly createTime: number
  /** Unix seconds; null for never. */
  readonly expireTime: number | null
}

/** RFC 9580, section 5.2.3.29. */
export const KEY_FLAGS = { certify: 1, sign: 2, encryptComms: 4, encryptStorage: 8 } as const

/**
 * Ten names and ten subkeys with signatures of RSA take a fifth of it. What is larger carries
 * pictures, or signatures of many.
 */
const MAX_ARMORED_BYTES = 64 * 1024

/** Names, subkeys and signatures of the key itself, each of which costs up to a millisecond. */
const MAX_PARTS = 100

const MIN_RSA_BITS = 2048
/** OpenSSL checks no signatures of longer ones. */
const MAX_RSA_BITS = 16_384

/**
 * What makes signatures here. All of these are checked by OpenSSL, on a thread of its own; others
 * would be by JavaScript, for milliseconds each in which nobody else is served.
 */
const SIGNING: ReadonlySet<string> = new Set([
  'rsaEncryptSign',
  'rsaSign',
  'ecdsa',
  'eddsaLegacy',
  'ed25519',
])
const CURVES: ReadonlySet<string> = new Set(['nistP256', 'nistP384', 'nistP521', 'ed25519Legacy'])

/** What subkeys may be besides. Nothing is done with them. */
const ENCRYPTING: ReadonlySet<string> = new Set(['rsaEncrypt', 'elgamal', 'ecdh', 'x25519', 'x448'])

/** One signature by RSA of the longest kind, in armor, takes 3 KB. */
const MAX_SIGNATURE_CHARACTERS = 8192

/**
 * Reads one armored public key. One that has expired is read as well: what it signed before it did
 * stays signed.
 *
 * @throws INVALID_GPG_KEY
 */
export async function readOpenPgpKey(armored: string): Promise<OpenPgpKey> {
  if (Buffer.byteLength(armored) > MAX_ARMORED_BYTES)
    throw invalid(`it is longer than ${MAX_ARMORED_BYTES} bytes`)
  const key = await parse(armored)
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
 * Whether a key, or a subkey of it that may sign, made a detached signature of one of some texts.
 *
 * @param certificate as `readOpenPgpKey` gives it.
 * @param nowMs Unix milliseconds. What was made later is no signature yet.
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
    // Whatever is wrong with it, it proves nothing.
  }
  return false
}

/** The library takes null for "whenever that was", which its types know of some functions only. */
const ANY_TIME = null as unknown as Date

async function parse(armored: string): Promise<PublicKey> {
  // Before anything looks at it any closer. What is private after all is refused below.
  if (armored.includes('PRIVATE KEY'))
    throw invalid('this is a private key, which nobody but its owner should see')
  let keys: Key[]
  try {
    keys = await readKeys({ armoredKeys: armored })
  } catch {
    throw invalid('it is no armored OpenPGP public key')
  }
  const [key] = keys
  if (!key || keys.length > 1) throw invalid(`it has ${keys.length} keys; add them one by one`)
  if (key.isPrivate()) throw invalid('this is a private key, which nobody but its owner should see')
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
    throw invalid(`keys of the kind ${[algorithm, curve].join(' ').trim()} are not taken`)
  }
  if (bits !== undefined && (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS)) {
    throw invalid(
      `an RSA key has ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits, and this one has ${bits}`,
    )
  }
}

async function selfSignatureOf(key: Key): Promise<SignaturePacket> {
  try {
    const { selfCertification } = await key.getPrimaryUser(ANY_TIME)
    return selfCertification
  } catch {
    throw invalid('it has no name that it signed itself')
  }
}

/** Those that are bound to the key by a valid signature, and were not revoked. */
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
 * Whether a subkey that may sign says so itself, by a signature of its own: else somebody else's
 * subkey could be bound to a key, and what it signs would be taken for the work of the wrong person
 * (RFC 9580, section 5.2.1.8).
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

/** What a key may be used for that does not say so: whatever it can. */
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
