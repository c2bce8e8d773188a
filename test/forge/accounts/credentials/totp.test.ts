import { URI } from 'otpauth'
import { describe, expect, it } from 'vitest'
import {
  newTotpSecret,
  otpauthUri,
  passcodeStep,
  totpSecretText,
} from '../../../../src/forge/accounts/credentials/two-factor.ts'

/** The secret of RFC 6238 appendix B. */
const SECRET = Buffer.from('12345678901234567890')

describe('passcodeStep', () => {
  // RFC 6238 appendix B, cut to six digits: Unix seconds, step, passcode.
  it.each([
    [59, 1, '287082'],
    [1111111109, 37037036, '081804'],
    [1111111111, 37037037, '050471'],
    [1234567890, 41152263, '005924'],
    [2000000000, 66666666, '279037'],
    [20000000000, 666666666, '353130'],
  ])('at %i is in step %i for %s', (seconds, step, passcode) => {
    expect(passcodeStep(SECRET, passcode, seconds * 1000)).toBe(step)
  })

  // The passcode 050471 is valid from second 1111111110 until before second 1111111140.
  it.each([
    ['the last millisecond before the step before', 1111111080_000 - 1, false],
    ['the start of the step before, for clocks that are fast', 1111111080_000, true],
    ['the start of its step', 1111111110_000, true],
    ['the last millisecond of its step', 1111111140_000 - 1, true],
    ['the last millisecond of the step after', 1111111170_000 - 1, true],
    ['the end of the step after', 1111111170_000, false],
  ])('at %s (%i) is accepted: %s', (_, nowMs, known) => {
    expect(passcodeStep(SECRET, '050471', nowMs)).toBe(known ? 37037037 : undefined)
  })

  it.each([
    ['050471', true],
    ['050 471', true],
    [' 0 5 0 4 7 1 ', true],
    ['', false],
    ['50471', false],
    ['0504711', false],
    ['050-471', false],
    ['+50471', false],
    ['050471, 050471', false],
    // Arabic-Indic digits, which \d matches in some languages.
    ['٠٥٠٤٧١', false],
  ])('accepts "%s": %s', (text, known) => {
    expect(passcodeStep(SECRET, text, 1111111111_000)).toBe(known ? 37037037 : undefined)
  })
})

describe('a secret', () => {
  it('has twenty random bytes', () => {
    const [one, two] = [newTotpSecret(), newTotpSecret()]
    expect([one.length, two.length, one.equals(two)]).toEqual([20, 20, false])
  })

  it('is base32 without padding for typing', () => {
    expect(totpSecretText(SECRET)).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
  })

  it('is a URI that authenticator apps scan', () => {
    const uri = otpauthUri(SECRET, 'ada')
    expect(uri).toMatch(/^otpauth:\/\/totp\/Branchline:ada\?/)
    expect(Object.fromEntries(new URL(uri).searchParams)).toEqual({
      issuer: 'Branchline',
      secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    })
    expect(URI.parse(uri)).toMatchObject({
      issuer: 'Branchline',
      label: 'ada',
      digits: 6,
      period: 30,
    })
  })

  it('has a URI that keeps a username with a colon apart from the issuer', () => {
    expect(URI.parse(otpauthUri(SECRET, 'a:b & c'))).toMatchObject({
      issuer: 'Branchline',
      label: 'a:b & c',
    })
  })
})
