import { describe, expect, it } from 'vitest'
import { canonicalAddress, isBlockedAddress } from '../../../src/platform/outbound/addresses.ts'

/**
 * The first and the last address of every blocked range whose neighbours outside are not blocked
 * too.
 */
const BLOCKED: readonly (readonly [what: string, ...addresses: string[]])[] = [
  ['this network', '0.0.0.0', '0.255.255.255'],
  ['private', '10.0.0.0', '10.255.255.255'],
  ['carrier NAT', '100.64.0.0', '100.127.255.255', '100.100.100.200'],
  ['loopback', '127.0.0.0', '127.0.0.1', '127.255.255.255'],
  ['link-local', '169.254.0.0', '169.254.169.254', '169.254.255.255'],
  ['private', '172.16.0.0', '172.31.255.255'],
  ['protocol assignments', '192.0.0.0', '192.0.0.255'],
  ['documentation', '192.0.2.0', '192.0.2.255'],
  ['6to4 relays', '192.88.99.0', '192.88.99.255'],
  ['private', '192.168.0.0', '192.168.255.255'],
  ['benchmarks', '198.18.0.0', '198.19.255.255'],
  ['documentation', '198.51.100.0', '198.51.100.255'],
  ['documentation', '203.0.113.0', '203.0.113.255'],
  ['multicast', '224.0.0.0', '239.255.255.255'],
  ['reserved', '240.0.0.0', '255.255.255.254'],
  ['broadcast', '255.255.255.255'],
  ['unspecified', '::', '0:0:0:0:0:0:0:0'],
  ['loopback', '::1'],
  ['IPv4-compatible', '::2', '::8.8.8.8', '::ffff:ffff'],
  [
    'IPv4-mapped, judged by what it maps',
    '::ffff:127.0.0.1',
    '::FFFF:7f00:1',
    '::ffff:169.254.169.254',
  ],
  ['IPv4-translated', '::ffff:0:0:0', '::ffff:0:7f00:1', '::ffff:0:ffff:ffff'],
  [
    'NAT64, judged by what it leads to',
    '64:ff9b::10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::a9fe:a9fe',
  ],
  ['local NAT64', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['discard', '100::', '100::ffff:ffff:ffff:ffff'],
  ['Teredo', '2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['other protocol assignments', '2001:1::1', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['documentation', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  [
    '6to4, judged by what it leads to',
    '2002:7f00:1::',
    '2002:a00:1::5',
    '2002:c0a8:101:ffff::',
    '2002:a9fe:a9fe::',
  ],
  ['documentation', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['segment routing', '5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['unique local', 'fc00::', 'fd00:ec2::254', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['link-local', 'fe80::', 'fe80::1%eth0', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['site-local', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['multicast', 'ff00::', 'ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
]

/** Public addresses, most of them next to a blocked range. */
const OPEN: readonly string[] = [
  ...[
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
  ],
  ...[
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '191.255.255.255',
    '192.0.1.0',
    '192.0.3.0',
  ],
  ...[
    '192.88.98.255',
    '192.88.100.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
  ],
  ...[
    '198.51.99.255',
    '198.51.101.0',
    '203.0.112.255',
    '203.0.114.0',
    '223.255.255.255',
    '8.8.8.8',
  ],
  ...[
    '::ffff:8.8.8.8',
    '::ffff:808:808',
    '64:ff9b::8.8.8.8',
    '64:ff9b::1:808:808',
    '2002:808:808::1',
  ],
  ...[
    '64:ff9b:2::',
    '100:0:0:1::',
    '2000:ffff::',
    '2001:200::',
    '2001:db7:ffff::',
    '2001:db9::',
    '2003::',
  ],
  ...[
    '2606:4700::1111',
    '3ffe:ffff::',
    '3fff:1000::',
    '5eff:ffff::',
    '5f01::',
    'fbff:ffff::',
    'fe00::',
    'fe7f:ffff::',
  ],
]

describe('isBlockedAddress', () => {
  it.each(BLOCKED)('blocks %s', (_, ...addresses) => {
    for (const address of addresses)
      expect([address, isBlockedAddress(canonicalAddress(address))]).toEqual([address, true])
  })

  it.each(OPEN)('allows %s', (address) => {
    expect(isBlockedAddress(canonicalAddress(address))).toBe(false)
  })
})

describe('canonicalAddress', () => {
  it.each([
    ['8.8.8.8', '8.8.8.8'],
    ['::ffff:8.8.8.8', '8.8.8.8'],
    ['0:0:0:0:0:FFFF:0808:0808', '8.8.8.8'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['fe80::1%eth0', 'fe80::1'],
    // The system connects to IPv4-compatible and IPv4-translated addresses as IPv6.
    ['::8.8.8.8', '::808:808'],
    ['::ffff:0:8.8.8.8', '::ffff:0:808:808'],
  ])('writes %s as %s', (address, canonical) => {
    expect(canonicalAddress(address)).toBe(canonical)
  })
})
