import { describe, expect, it } from 'vitest'
import {
  decodeForm,
  decodeMulti,
  decodeSingle,
} from '../../../../../src/platform/rpc/rest/schema/template.ts'

const malformed = [
  '%',
  '%4',
  '%zz',
  'a%',
  '%2',
  '%C3',
  '%C3%28',
  '%FF',
  '%C0%AF',
  '%ED%A0%80',
  '%u0041',
  '100%',
]

describe('decodeSingle', () => {
  it.each([
    ['', ''],
    ['plain', 'plain'],
    ['a%2Fb%2fc', 'a/b/c'],
    ['%41%7e%7E', 'A~~'],
    ['%C3%A9', 'é'],
    ['%F0%9F%90%99', '🐙'],
    ['%252F', '%2F'], // decoded once
    ['a+b', 'a+b'], // a plus sign in a path
    ['%00', '\0'],
  ])('decodes %j to %j', (text, decoded) => {
    expect(decodeSingle(text)).toBe(decoded)
  })

  it.each(malformed)('refuses %j', (text) => {
    expect(decodeSingle(text)).toBeUndefined()
  })
})

describe('decodeMulti', () => {
  it.each([
    ['a/b', 'a/b'],
    ['a%2Fb/c%2fd', 'a%2Fb/c%2fd'], // as received, hex case included
    ['a%20b%3A/%41', 'a b:/A'], // other reserved characters are decoded
    ['%252F', '%2F'], // an escaped percent sign is no escaped slash
    ['%25252F', '%252F'],
    ['%2F%2F', '%2F%2F'],
  ])('decodes %j to %j', (text, decoded) => {
    expect(decodeMulti(text)).toBe(decoded)
  })

  it.each([...malformed, '%%2F', '%2F%'])('refuses %j', (text) => {
    expect(decodeMulti(text)).toBeUndefined()
  })
})

describe('decodeForm', () => {
  it.each([
    ['a+b', 'a b'],
    ['a%2Bb', 'a+b'],
    ['+', ' '],
    ['%2F', '/'],
  ])('decodes %j to %j', (text, decoded) => {
    expect(decodeForm(text)).toBe(decoded)
  })

  it.each(malformed)('refuses %j', (text) => {
    expect(decodeForm(text)).toBeUndefined()
  })
})
