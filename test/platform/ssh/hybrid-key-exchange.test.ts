import { createHash, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js'
import { describe, expect, it } from 'vitest'
import { answerHybrid } from '../../../src/platform/ssh/hybrid-key-exchange.ts'

function clientShare() {
  const kem = ml_kem768.keygen()
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  const own = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  return { kem, privateKey, share: Buffer.concat([kem.publicKey, own]) }
}

describe('the hybrid key exchange', () => {
  it('gives both sides the same secret', () => {
    const { kem, privateKey, share } = clientShare()
    const answer = answerHybrid(share)
    expect(answer.share).toHaveLength(1088 + 32)
    const publicKey = createPublicKey({
      key: { kty: 'OKP', crv: 'X25519', x: answer.share.toString('base64url', 1088) },
      format: 'jwk',
    })
    const secret = createHash('sha256')
      .update(ml_kem768.decapsulate(new Uint8Array(answer.share.subarray(0, 1088)), kem.secretKey))
      .update(diffieHellman({ privateKey, publicKey }))
      .digest()
    expect(answer.secret).toEqual(secret)
  })

  it.each([
    ['short', (share: Buffer) => share.subarray(1)],
    ['long', (share: Buffer) => Buffer.concat([share, Buffer.alloc(1)])],
    ['with a point of small order', (share: Buffer) => share.fill(0, 1184)],
    ['with numbers beyond the modulus', (share: Buffer) => share.fill(0xff, 0, 1184)],
  ])('refuses a share that is %s', (_, change) => {
    expect(() => answerHybrid(change(clientShare().share))).toThrow()
  })
})
