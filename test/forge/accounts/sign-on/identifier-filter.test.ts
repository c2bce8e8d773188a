import { describe, expect, it } from 'vitest'
import {
  admitsIdentifier,
  checkIdentifierFilter,
} from '../../../../src/forge/accounts/sign-on/identity-providers.ts'

describe('admitsIdentifier', () => {
  it.each([
    ['', 'anybody', true],
    ['@example\\.org$', 'bob@example.org', true],
    ['@example\\.org$', 'bob@example.org.evil.net', false],
    // Matches anywhere unless the pattern is anchored.
    ['ob', 'bob', true],
    ['^ob', 'bob', false],
    ['(?i)^BOB$', 'bob', true],
    ['^\\d+$', '9007199254740993', true],
    ['^\\pL+$', 'Łukasz', true],
    ['^.$', '\u{1f40e}', true],
    // A line break in the identifier is not an end of text.
    ['^bob$', 'eve\nbob', false],
  ])('%j on %j: %s', (filter, identifier, admitted) => {
    expect(checkIdentifierFilter(filter)).toBe(filter)
    expect(admitsIdentifier(filter, identifier)).toBe(admitted)
  })

  it.each([
    '^(a+)+$',
    '^(a|aa)+$',
    '^(a*)*b',
    '(.*a){20}!',
    '(?:a?){30}(?:a){300}',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
  ])('takes little time for %s, on which backtracking engines do not terminate', (filter) => {
    expect(admitsIdentifier(checkIdentifierFilter(filter), `${'a'.repeat(254)}\u00a0`)).toBe(false)
  })
})

describe('checkIdentifierFilter', () => {
  it.each([
    ['a group that does not end', '('],
    ['a class that does not end', '[a'],
    ['nothing to repeat', '*'],
    // Not part of RE2, since linear-time matching is impossible.
    ['a look ahead', '(?=bob)'],
    ['a look behind', '(?<=bob)x'],
    ['a back reference', '(a)\\1'],
    ['a repetition too many', 'a{1001}'],
    ['257 characters', 'a'.repeat(257)],
    ['more instructions than can be run for every sign-in', '(?:(?:(?:a?)?)?){1000}'],
    ['a thousand times many', `(?:${'((a?)?)?'.repeat(25)}){1000}`],
  ])('refuses %s', (_, filter) => {
    expect(() => checkIdentifierFilter(filter)).toThrow(
      expect.objectContaining({ reason: 'INVALID_IDENTIFIER_FILTER' }),
    )
  })

  it('accepts 256 characters of any kind', () => {
    expect(() => checkIdentifierFilter('\u{1f40e}'.repeat(256))).not.toThrow()
  })
})
