import { BlockList, isIP, isIPv6 } from 'node:net'
import { isSignatureOf, readStrings, writeStrings } from './ssh-signatures.ts'

/** User certificates (OpenSSH, PROTOCOL.certkeys). */

/** A certificate, whose signature was not verified. */
export interface Certificate {
  /** The certified key, in the form of RFC 4253, section 6.6. */
  readonly key: Buffer
  readonly serial: bigint
  /** Name that the authority gave the certificate. Any text. */
  readonly keyId: string
  readonly principals: readonly string[]
  /** Unix seconds. */
  readonly validAfter: bigint
  /** Unix seconds: the first that is too late. */
  readonly validBefore: bigint
  readonly criticalOptions: ReadonlyMap<string, Buffer>
  /** Key of the authority, in the form of RFC 4253, section 6.6. */
  readonly authority: Buffer
  /** What the authority has signed, and the signature. */
  readonly signed: Buffer
  readonly signature: Buffer
}

const SUFFIX = '-cert-v01@openssh.com'

/** Types of certified keys, with the number of fields of the key after its type. */
const CERTIFIED_TYPES: ReadonlyMap<string, number> = new Map([
  ['ssh-ed25519', 1],
  ['ecdsa-sha2-nistp256', 2],
  ['ecdsa-sha2-nistp384', 2],
  ['ecdsa-sha2-nistp521', 2],
  ['ssh-rsa', 2],
  ['sk-ssh-ed25519@openssh.com', 2],
  ['sk-ecdsa-sha2-nistp256@openssh.com', 3],
])

/** Algorithms of certificates with the algorithms by which their keys sign. */
const SIGNATURE_ALGORITHMS: ReadonlyMap<string, string> = new Map([
  ['ssh-ed25519-cert-v01@openssh.com', 'ssh-ed25519'],
  ['ecdsa-sha2-nistp256-cert-v01@openssh.com', 'ecdsa-sha2-nistp256'],
  ['ecdsa-sha2-nistp384-cert-v01@openssh.com', 'ecdsa-sha2-nistp384'],
  ['ecdsa-sha2-nistp521-cert-v01@openssh.com', 'ecdsa-sha2-nistp521'],
  ['rsa-sha2-512-cert-v01@openssh.com', 'rsa-sha2-512'],
  ['rsa-sha2-256-cert-v01@openssh.com', 'rsa-sha2-256'],
  ['sk-ssh-ed25519-cert-v01@openssh.com', 'sk-ssh-ed25519@openssh.com'],
  ['sk-ecdsa-sha2-nistp256-cert-v01@openssh.com', 'sk-ecdsa-sha2-nistp256@openssh.com'],
])

/** The algorithms as the server lists them (RFC 8308, section 3.1). */
export const CERTIFICATE_ALGORITHMS = [...SIGNATURE_ALGORITHMS.keys()].join(',')

const USER_CERTIFICATE = 1

const MIN_RSA_BYTES = 2048 / 8
const MAX_RSA_BYTES = 16_384 / 8

/** Returns whether an algorithm of a request is one of certificates. */
export function isCertificateAlgorithm(algorithm: string): boolean {
  return SIGNATURE_ALGORITHMS.has(algorithm)
}

/** Reads a certificate for a user. Undefined for anything else. */
export function readCertificate(blob: Buffer): Certificate | undefined {
  const fields = new Fields(blob)
  try {
    const name = fields.string().toString()
    if (!name.endsWith(SUFFIX)) return undefined
    const plain = name.slice(0, -SUFFIX.length)
    const type = plain.startsWith('sk-') ? `${plain}@openssh.com` : plain
    const count = CERTIFIED_TYPES.get(type)
    if (count === undefined) return undefined
    // The nonce.
    fields.string()
    const numbers = Array.from({ length: count }, () => fields.string())
    const serial = fields.uint64()
    if (fields.uint32() !== USER_CERTIFICATE || !isLongEnough(type, numbers)) return undefined
    const [keyId, principals] = [fields.string(), fields.string()]
    const [validAfter, validBefore] = [fields.uint64(), fields.uint64()]
    const options = fields.string()
    // The extensions allow nothing that Git needs. A field is reserved.
    fields.string()
    fields.string()
    const authority = fields.string()
    const signed = blob.subarray(0, fields.at)
    const signature = fields.string()
    if (fields.at !== blob.length) return undefined
    return {
      key: writeStrings([Buffer.from(type), ...numbers]),
      serial,
      keyId: keyId.toString(),
      principals: readStrings(principals).map(String),
      validAfter,
      validBefore,
      criticalOptions: optionsIn(options),
      authority,
      signed,
      signature,
    }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** RSA keys have the limits of those of accounts. */
function isLongEnough(type: string, [, modulus]: readonly Buffer[]): boolean {
  if (type !== 'ssh-rsa' || !modulus) return true
  const bytes = modulus[0] === 0 ? modulus.length - 1 : modulus.length
  return bytes >= MIN_RSA_BYTES && bytes <= MAX_RSA_BYTES
}

/** @throws RangeError for malformed options. */
function optionsIn(bytes: Buffer): ReadonlyMap<string, Buffer> {
  const strings = readStrings(bytes)
  if (strings.length % 2 !== 0 || (strings.length === 0 && bytes.length > 0))
    throw new RangeError('options of a certificate are malformed')
  const options = new Map<string, Buffer>()
  for (let at = 0; at < strings.length; at += 2)
    options.set(String(strings[at]), strings[at + 1] ?? Buffer.alloc(0))
  return options
}

/** Returns whether the authority has signed a certificate. SHA-1 does not count. */
export function isSignedByAuthority({ authority, signed, signature }: Certificate) {
  return isSignatureOf(authority, signature, signed)
}

/**
 * Returns whether the key of a certificate has signed a request.
 *
 * @param algorithm of the request.
 */
export async function isSignedByCertified(
  { key }: Certificate,
  algorithm: string,
  signature: Buffer,
  data: Buffer,
): Promise<boolean> {
  const end = signature.length < 4 ? 0 : 4 + signature.readUInt32BE(0)
  const named = signature.subarray(4, end).toString('latin1')
  return named === SIGNATURE_ALGORITHMS.get(algorithm) && isSignatureOf(key, signature, data, true)
}

/**
 * Returns whether the time and the options of a certificate allow a client to use it.
 *
 * @param address of the client.
 */
export function allows(
  { validAfter, validBefore, criticalOptions }: Certificate,
  nowMs: number,
  address: string,
): boolean {
  const now = BigInt(Math.floor(nowMs / 1000))
  if (now < validAfter || now >= validBefore) return false
  // An option that is not known refuses (PROTOCOL.certkeys, "Critical options").
  return [...criticalOptions].every(
    ([name, data]) =>
      name === 'source-address' && isAmong(address, String(readStrings(data)[0] ?? '')),
  )
}

/** Returns whether an address is in a list of addresses and networks, separated by commas. */
function isAmong(address: string, list: string): boolean {
  const allowed = new BlockList()
  for (const entry of list.split(',')) {
    const [network = '', bits] = entry.split('/')
    if (isIP(network) === 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return false
    const family = isIPv6(network) ? 'ipv6' : 'ipv4'
    const most = family === 'ipv6' ? 128 : 32
    const length = bits === undefined ? most : Number(bits)
    if (length > most) return false
    allowed.addSubnet(network, length, family)
  }
  return isIP(address) !== 0 && allowed.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Reads the fields of a message in their order (RFC 4251, section 5). */
class Fields {
  readonly #bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  string(): Buffer {
    const length = this.uint32()
    if (this.at + length > this.#bytes.length) throw new RangeError('a string is cut off')
    this.at += length
    return this.#bytes.subarray(this.at - length, this.at)
  }

  uint32(): number {
    this.at += 4
    return this.#bytes.readUInt32BE(this.at - 4)
  }

  uint64(): bigint {
    this.at += 8
    return this.#bytes.readBigUInt64BE(this.at - 8)
  }
}
