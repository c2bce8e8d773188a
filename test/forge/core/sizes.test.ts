import { describe, expect, it } from 'vitest'
import { sizeText } from '../../../src/forge/core/sizes.ts'

const MIB = 1024 ** 2

describe('the text of a size', () => {
  it.each([
    [0, '0 bytes'],
    [1023, '1023 bytes'],
    [1024, '1.00 KiB'],
    [12 * MIB, '12.0 MiB'],
    [210 * MIB, '210 MiB'],
    [1023.9 * MIB, '1.00 GiB'],
    [1024 * MIB, '1.00 GiB'],
    [9.999 * MIB, '10.0 MiB'],
    [99.99 * MIB, '100 MiB'],
  ])('of %d bytes is %s', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text)
  })
})
