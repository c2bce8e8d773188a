import {
  createMessage,
  enums,
  type PublicKey,
  readKey,
  readSignature,
  type Signature,
  verify,
} from 'openpgp'

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
  const signature = await parse(armored)
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

async function parse(armoredSignature: string): Promise<Signature | undefined> {
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
