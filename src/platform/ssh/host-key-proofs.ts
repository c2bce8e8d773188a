import utils from 'ssh2/lib/protocol/utils.js'
import type { HostKey } from './host-keys.ts'
import { readStrings, writeStrings } from './ssh-signatures.ts'

/**
 * Host keys that clients learn over a connection whose host key they know (OpenSSH, PROTOCOL,
 * section 2.5). OpenSSH stores the next keys so, and forgets the former ones.
 */

const OFFER = 'hostkeys-00@openssh.com'
/** The request of a client for proofs that the server has the private keys. */
export const PROOF_REQUEST = 'hostkeys-prove-00@openssh.com'

/** Message number of a global request (RFC 4250, section 4.1.2). */
const GLOBAL_REQUEST = 80

/** Returns the message that tells a client all host keys, without a reply. */
export function offerOf(hostKeys: readonly HostKey[]): Buffer {
  const keys = writeStrings(hostKeys.map(({ parsed }) => parsed.getPublicSSH()))
  return Buffer.concat([
    Buffer.from([GLOBAL_REQUEST]),
    writeStrings([Buffer.from(OFFER)]),
    Buffer.from([0]),
    keys,
  ])
}

/** A connection that asks for proofs. */
export interface ProvedConnection {
  readonly sessionId: Buffer
  /** Algorithm of the host key of the connection. Its hash applies to RSA keys. */
  readonly hostKeyAlgorithm: string
}

/**
 * Returns the proofs for the public keys in a request.
 *
 * @returns undefined where a key is not one of the host keys, or is asked for twice.
 */
export function proofsFor(
  request: Buffer,
  hostKeys: readonly HostKey[],
  { sessionId, hostKeyAlgorithm }: ProvedConnection,
): Buffer | undefined {
  const rsaAlgorithm = hostKeyAlgorithm === 'rsa-sha2-256' ? 'rsa-sha2-256' : 'rsa-sha2-512'
  const left = new Map(hostKeys.map((key) => [key.parsed.getPublicSSH().toString('hex'), key]))
  const proofs: Buffer[] = []
  for (const data of readStrings(request)) {
    const name = data.toString('hex')
    const key = left.get(name)
    if (!key) return undefined
    left.delete(name)
    const proof = writeStrings([Buffer.from(PROOF_REQUEST), sessionId, data])
    proofs.push(signedBy(key, proof, rsaAlgorithm))
  }
  return proofs.length === 0 ? undefined : writeStrings(proofs)
}

/** Returns a signature in the form of RFC 4253, section 6.6. */
function signedBy({ parsed }: HostKey, data: Buffer, rsaAlgorithm: string): Buffer {
  const isRsa = parsed.type === 'ssh-rsa'
  const hash = isRsa ? rsaAlgorithm.replace('rsa-sha2-', 'sha') : undefined
  const signature = parsed.sign(data, hash)
  if (signature instanceof Error) throw signature
  const value = utils.convertSignature(signature, parsed.type)
  if (value === false) throw new Error(`a signature by ${parsed.type} has an unknown form`)
  return writeStrings([Buffer.from(isRsa ? rsaAlgorithm : parsed.type), value])
}
