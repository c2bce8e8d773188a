import { describe, expect, it } from 'vitest'
import {
  grpcMessage,
  headerValue,
  isHeaderName,
} from '../../../../src/platform/rpc/exchange/headers.ts'

describe('headerValue', () => {
  it.each([
    ['inline; filename="a b.txt"', 'inline; filename="a b.txt"'],
    ['100%', '100%'],
    ['a\r\nb', 'a%0D%0Ab'],
    ['\u00e4\u{1f600}', '%C3%A4%F0%9F%98%80'],
    // No character of its own; the replacement character stands for it.
    ['\ud800', '%EF%BF%BD'],
  ])('encodes %j as %s', (text, value) => {
    expect(headerValue(text)).toBe(value)
    expect(() => new Headers({ x: value })).not.toThrow()
  })
})

describe('grpcMessage', () => {
  it('escapes the percent sign too', () => {
    expect(grpcMessage('50% \u00fc\n')).toBe('50%25 %C3%BC%0A')
  })
})

describe('isHeaderName', () => {
  it.each([
    ['Location', true],
    ['X-_~1', true],
    ['', false],
    ['a b', false],
    ['a:', false],
    ['Content-Length', false],
    ['connection', false],
  ])('%s: %s', (name, expected) => {
    expect(isHeaderName(name)).toBe(expected)
  })
})
