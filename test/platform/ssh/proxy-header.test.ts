import { describe, expect, it } from 'vitest'
import { proxyHeaderIn } from '../../../src/platform/ssh/proxy-header.ts'

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'

/** A header of version 2. */
function binary(command: number, family: number, addresses: readonly number[]): Buffer {
  const fixed = [command, family, addresses.length >> 8, addresses.length & 255]
  return Buffer.concat([Buffer.from(SIGNATURE, 'latin1'), Buffer.from([...fixed, ...addresses])])
}

const IPV6 = [0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1, ...Array(16).fill(0), 0, 1, 0, 2]

describe('a header of the PROXY protocol', () => {
  it.each([
    ['PROXY TCP4 192.0.2.7 10.0.0.1 1000 22\r\n', '192.0.2.7'],
    ['PROXY TCP6 2001:db8::1 ::1 1000 22\r\n', '2001:db8::1'],
    ['PROXY UNKNOWN\r\n', undefined],
    ['PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n', undefined],
    [binary(0x21, 0x11, [192, 0, 2, 7, 10, 0, 0, 1, 0, 1, 0, 22]), '192.0.2.7'],
    [binary(0x21, 0x11, [192, 0, 2, 7, 10, 0, 0, 1, 0, 1, 0, 22, 4, 0, 1, 0]), '192.0.2.7'],
    [binary(0x21, 0x21, IPV6), '2001:db8::1'],
    [binary(0x20, 0, []), undefined],
    [binary(0x21, 0, []), undefined],
  ])('names a client: %j', (header, address) => {
    const bytes = Buffer.from(header)
    const rest = Buffer.from('SSH-2.0-x\r\n')
    expect(proxyHeaderIn(Buffer.concat([bytes, rest]))).toEqual({ address, rest })
    for (let length = 0; length < bytes.length; length += 1)
      expect(proxyHeaderIn(bytes.subarray(0, length))).toBeUndefined()
  })

  it.each([
    'SSH-2.0-OpenSSH\r\n',
    'PROXY TCP4 2001:db8::1 ::1 1000 22\r\n',
    'PROXY TCP4 name 10.0.0.1 1000 22\r\n',
    'PROXY TCP0 name 10.0.0.1 1000 22\r\n',
    'PROXY TCP4 192.0.2.7\r\n',
    `PROXY TCP4 ${'1'.repeat(120)}`,
    binary(0x11, 0x11, []),
    binary(0x22, 0x11, []),
    binary(0x21, 0x11, [1, 2, 3, 4]),
    binary(0x21, 0x31, Array(216).fill(0)),
  ])('is malformed: %j', (header) => {
    expect(proxyHeaderIn(Buffer.from(header))).toBe('malformed')
  })
})
