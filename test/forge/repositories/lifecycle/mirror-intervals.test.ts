import { describe, expect, it } from 'vitest'
import {
  formatInterval,
  parseMirrorInterval,
} from '../../../../src/forge/repositories/lifecycle/mirrors.ts'

describe('the interval of a mirror', () => {
  it.each([
    ['8h0m0s', 28_800, '8h0m0s'],
    ['10m', 600, '10m0s'],
    ['600s', 600, '10m0s'],
    ['1.5h', 5_400, '1h30m0s'],
    ['.5h1m1s', 1_861, '31m1s'],
    ['600000ms', 600, '10m0s'],
    ['600000000us', 600, '10m0s'],
    ['600.9s', 600, '10m0s'],
    // Go writes a duration of nothing so, and reads it without a unit, too.
    ['0s', 0, '0s'],
    ['0', 0, '0s'],
  ])('%s is %i seconds, and written %s', (text, seconds, written) => {
    expect(parseMirrorInterval(text)).toBe(seconds)
    expect(formatInterval(seconds)).toBe(written)
  })

  it.each([
    '',
    ' ',
    '10',
    '9m59s',
    '-8h',
    '8h ',
    '8 h',
    'h',
    '1d',
    '.h',
    '8784h1s',
    '1e3m',
    '1h'.repeat(26),
  ])('is not %j', (text) => {
    const refusal = { reason: 'INVALID_MIRROR_INTERVAL', metadata: { interval: text.slice(0, 50) } }
    expect(() => parseMirrorInterval(text)).toThrow(expect.objectContaining(refusal))
  })
})
