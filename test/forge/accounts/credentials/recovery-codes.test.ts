import { describe, expect, it } from 'vitest'
import {
  newRecoveryCodes,
  parseRecoveryCode,
} from '../../../../src/forge/accounts/credentials/two-factor.ts'

describe('newRecoveryCodes', () => {
  it('creates ten codes of five base32 groups, with the first group as the lookup', () => {
    const codes = newRecoveryCodes()
    expect(codes).toHaveLength(10)
    for (const { text, lookup } of codes) {
      expect(text).toMatch(/^[A-Z2-7]{4}(-[A-Z2-7]{4}){4}$/)
      expect(lookup).toBe(text.slice(0, 4))
    }
  })

  it('creates different lookups within a set, and different codes', () => {
    const sets = Array.from({ length: 100 }, newRecoveryCodes)
    for (const set of sets) expect(new Set(set.map(({ lookup }) => lookup)).size).toBe(10)
    expect(new Set(sets.flat().map(({ text }) => text)).size).toBe(1000)
  })

  it('uses every character in every position', () => {
    const codes = Array.from({ length: 100 }, newRecoveryCodes).flat()
    for (const place of [...(codes[0]?.text.replaceAll('-', '')?.split('') ?? [])].keys()) {
      const characters = new Set(codes.map(({ text }) => text.replaceAll('-', '')[place]))
      expect(characters.size).toBe(32)
    }
  })
})

describe('parseRecoveryCode', () => {
  const code = { text: 'ABCD-EFGH-IJKL-MNOP-QR27', lookup: 'ABCD' }

  it.each([
    ['as shown', 'ABCD-EFGH-IJKL-MNOP-QR27', code],
    ['in lower case', 'abcd-efgh-ijkl-mnop-qr27', code],
    ['without hyphens', 'ABCDEFGHIJKLMNOPQR27', code],
    ['with blanks', ' ABCD EFGH IJKL MNOP QR27\n', code],
    ['with a character too few', 'ABCD-EFGH-IJKL-MNOP-QR2', undefined],
    ['with a character too many', 'ABCD-EFGH-IJKL-MNOP-QR277', undefined],
    ['with a character that is not in the alphabet', 'ABCD-EFGH-IJKL-MNOP-QR28', undefined],
    ['nothing', '', undefined],
    ['a passcode', '123456', undefined],
  ])('parses a code %s', (_, text, want) => {
    expect(parseRecoveryCode(text)).toEqual(want)
  })
})
