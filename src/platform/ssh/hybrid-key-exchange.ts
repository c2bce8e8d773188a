import { createHash, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js'

/**
 * The key exchange `mlkem768x25519-sha256`, which stays secret even if one of its halves is broken
 * (draft-ietf-sshm-mlkem-hybrid-kex). OpenSSH 10.1 warns of servers without such an exchange.
 */

const ENCAPSULATION_KEY_BYTES = 1184
const X25519_BYTES = 32

/** The answer of a server to one client. */
export interface HybridAnswer {
  /** Ciphertext and X25519 key of the server. */
  readonly share: Buffer
  readonly secret: Buffer
}

/**
 * Answers the share of a client.
 *
 * @throws when the share is no valid one.
 */
export function answerHybrid(share: Buffer): HybridAnswer {
  if (share.length !== ENCAPSULATION_KEY_BYTES + X25519_BYTES)
    throw new RangeError('a share of the wrong length')
  const { cipherText, sharedSecret } = ml_kem768.encapsulate(
    new Uint8Array(share.subarray(0, ENCAPSULATION_KEY_BYTES)),
  )
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  const theirs = createPublicKey({
    key: { kty: 'OKP', crv: 'X25519', x: share.toString('base64url', ENCAPSULATION_KEY_BYTES) },
    format: 'jwk',
  })
  // OpenSSL refuses a share that makes the secret zero.
  const classical = diffieHellman({ privateKey, publicKey: theirs })
  const own = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  return {
    share: Buffer.concat([cipherText, own]),
    secret: createHash('sha256').update(sharedSecret).update(classical).digest(),
  }
}

/** The methods that an exchange of `ssh2` overrides. */
interface Exchange {
  getPublicKey(): Buffer
}
type ExchangeClass = new (...args: unknown[]) => Exchange

/**
 * Creates the class of the exchange for `ssh2`, which finds the class by the corrections of
 * `scripts/setup/ssh2-corrections.mjs`. The class serves only; `ssh2` computes the secret before it
 * sends the share.
 */
export function hybridExchange(base: ExchangeClass): ExchangeClass {
  return class HybridExchange extends base {
    #answer: HybridAnswer | undefined

    generateKeys(): void {}

    convertPublicKey(key: Buffer): Buffer {
      return key
    }

    override getPublicKey(): Buffer {
      if (!this.#answer) throw new Error('the share of the client is missing')
      return this.#answer.share
    }

    computeSecret(share: Buffer): Buffer | Error {
      try {
        this.#answer = answerHybrid(share)
        return this.#answer.secret
      } catch (error) {
        return error instanceof Error ? error : new Error(String(error))
      }
    }
  }
}
