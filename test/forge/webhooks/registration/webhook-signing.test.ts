import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import {
  checkSigningSecret,
  newSigningSecret,
  signatureOf,
} from '../../../../src/forge/webhooks/registration/webhook-signing.ts'

const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const CONTENT = { id: 'msg_01', timestamp: 1_700_000_000, body: '{"type":"memo.created"}' }
const SIGNATURE = 'v1,mnRNhSfa59novL9nJYXLu/wmRNVL49aC0VqqWn1JpEk='

const base64Of = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64')

describe('signatureOf', () => {
  it('equals a signature of another implementation', () => {
    expect(signatureOf(CONTENT, [SECRET])).toBe(SIGNATURE)
  })

  it('has one entry per secret', () => {
    const other = signatureOf(CONTENT, ['whsec_other'])
    expect(signatureOf(CONTENT, [SECRET, 'whsec_other'])).toBe(`${SIGNATURE} ${other}`)
  })

  it.each([
    ['id', { id: 'msg_02' }],
    ['timestamp', { timestamp: 1_700_000_001 }],
    ['body', { body: '{"type":"memo.deleted"}' }],
  ])('changes with the %s', (_, change) => {
    expect(signatureOf({ ...CONTENT, ...change }, [SECRET])).not.toBe(SIGNATURE)
  })

  it('uses a secret without the prefix as the key', () => {
    const content = { ...CONTENT, timestamp: Math.floor(Date.now() / 1000) }
    const headers = {
      'webhook-id': content.id,
      'webhook-timestamp': String(content.timestamp),
      'webhook-signature': signatureOf(content, ['not base64!']),
    }
    expect(new Webhook('not base64!', { format: 'raw' }).verify(content.body, headers)).toEqual({
      type: 'memo.created',
    })
  })
})

describe('newSigningSecret', () => {
  it('returns a random key of 32 bytes', () => {
    const secret = newSigningSecret()
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(newSigningSecret()).not.toBe(secret)
    expect(() => checkSigningSecret(secret)).not.toThrow()
  })
})

describe('checkSigningSecret', () => {
  it.each([
    ['a key of 24 bytes', `whsec_${base64Of(24)}`],
    ['a key of 64 bytes', `whsec_${base64Of(64)}`],
    ['a text', 'correct horse ~!'],
    ['a text that starts almost like a key', 'WHSEC_x'],
    ['a long text', 'x'.repeat(256)],
  ])('takes %s', (_, secret) => {
    expect(() => checkSigningSecret(secret)).not.toThrow()
  })

  it.each([
    ['nothing', ''],
    ['nothing behind the prefix', 'whsec_'],
    ['a key of 23 bytes', `whsec_${base64Of(23)}`],
    ['a key of 65 bytes', `whsec_${base64Of(65)}`],
    ['a key that is no base64', `whsec_${'!'.repeat(32)}`],
    ['a key in the base64 of URLs', `whsec_${Buffer.alloc(24, 255).toString('base64url')}`],
    ['a key without its padding', `whsec_${base64Of(25).replace(/=+$/, '')}`],
    ['a key with text behind it', `whsec_${base64Of(24)}\n`],
    ['a text beyond ASCII', 'sécret'],
    ['a line break', 'two\nlines'],
    ['a text that is too long', 'x'.repeat(257)],
  ])('refuses %s', (_, secret) => {
    expect(() => checkSigningSecret(secret)).toThrow(
      expect.objectContaining({ reason: 'INVALID_SIGNING_SECRET' }),
    )
  })
})
