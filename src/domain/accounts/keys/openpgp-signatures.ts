import {
  createMessage,
  enums,
  type PublicKey,
  readKey,
  readSignature,
  type Signature,
  verify,
} from 'openpgp'

/** A detached signature of a text, by one key. */
export interface OpenPgpSignature {
  /** Of the key or subkey that it claims to be by: 16 hexadecimal digits in upper case. */
  readonly keyId: string
  /** Unix milliseconds. */
  readonly createTime: number
  /** Unix milliseconds; infinite for never. */
  readonly expireTime: number
  readonly armored: string
}

/**
 * A key that is ready to check signatures. What it finds out about its own parts it does not find
 * out twice.
 */
export type OpenPgpCertificate = PublicKey

/** One signature by RSA of the longest kind, in armor, takes 3 KB. */
const MAX_ARMORED_CHARACTERS = 8192

const BEGINNING = '-----BEGIN PGP SIGNATURE-----'
const END = '-----END PGP SIGNATURE-----'

/** Of a text, as opposed to those of keys, or of nothing at all (RFC 9580, section 5.2.1). */
const OF_TEXTS: ReadonlySet<number | null> = new Set([enums.signature.binary, enums.signature.text])

/** Reads an armored signature; undefined if it is none. */
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
 * Whether there is nothing besides one block: what stood behind it would be neither signed nor part
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

/** @param certificate as `readOpenPgpKey` gives it. */
export function openCertificate(certificate: Buffer): Promise<OpenPgpCertificate> {
  return readKey({ binaryKey: certificate })
}

/**
 * Whether a signature is one of a text by a key, or by a subkey of it that may sign, which was
 * neither expired nor revoked when it was made. This does not depend on when it is asked; whether
 * the signature has expired itself the caller sees by its times.
 *
 * A key whose expiry is put off gets new signatures of its own in place of the old ones. What it
 * signed before is judged as of then.
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
      // Read anew: it remembers what it was found to be.
      signature: await readSignature({ armoredSignature: armored }),
      verificationKeys,
      date: new Date(Math.max(createTime, lastSelfSignature(verificationKeys))),
      format: 'binary',
      config: { allowInsecureVerificationWithReformattedKeys: true },
    })
    return (await signatures[0]?.verified) ?? false
  } catch {
    // Whatever is wrong with it, it proves nothing.
    return false
  }
}

/** When a key last said something about itself, in Unix milliseconds. */
function lastSelfSignature({ users, subkeys }: OpenPgpCertificate): number {
  const own = [
    ...users.flatMap(({ selfCertifications }) => selfCertifications),
    ...subkeys.flatMap(({ bindingSignatures }) => bindingSignatures),
  ]
  return Math.max(0, ...own.map(({ created }) => created?.getTime() ?? 0))
}
