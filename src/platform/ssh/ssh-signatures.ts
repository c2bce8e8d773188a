import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { promisify } from 'node:util'

/** Signatures by SSH keys (RFC 4253, section 6.6), also by security keys. */

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

/** The flag of a security key that a user has touched (OpenSSH, PROTOCOL.u2f, "SSH U2F Signatures"). */
const USER_PRESENT = 1

/**
 * Returns whether a key has signed data.
 *
 * @param publicKey in the form of RFC 4253, section 6.6, not validated.
 * @param signature in the form of the same section. A security key appends flags and a counter.
 * @param needsPresence whether a user must have touched a security key.
 */
export async function isSignatureOf(
  publicKey: Buffer,
  signature: Buffer,
  data: Buffer,
  needsPresence = false,
): Promise<boolean> {
  const [keyType, ...numbers] = readStrings(publicKey)
  const deviceStart = signature.length - DEVICE_BYTES
  const isOnDevice = keyType?.subarray(0, 3).toString() === 'sk-'
  if (isOnDevice && deviceStart < 0) return false
  const device = signature.subarray(deviceStart)
  if (isOnDevice && needsPresence && !((device[0] ?? 0) & USER_PRESENT)) return false
  const [name, value, ...rest] = readStrings(
    isOnDevice ? signature.subarray(0, deviceStart) : signature,
  )
  const scheme = SCHEMES.get(name?.toString() ?? '')
  if (!scheme || !value || rest.length > 0 || scheme.keyType !== keyType?.toString()) return false
  const signed = scheme.isOnDevice
    ? Buffer.concat([sha256(numbers.at(-1)), device, sha256(data)])
    : data
  try {
    const encoded = scheme.family === 'ecdsa' ? pointOf(value, numbers[0]) : value
    const key = { key: keyOf(scheme, numbers), dsaEncoding: 'ieee-p1363' as const }
    return await verifyApart(scheme.hash, signed, key, encoded)
  } catch {
    // An error means that the signature proves nothing.
    return false
  }
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
export function readStrings(bytes: Buffer): Buffer[] {
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
