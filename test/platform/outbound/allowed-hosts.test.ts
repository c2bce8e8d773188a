import { describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'

describe('parseAllowedHosts', () => {
  it('allows nothing by default', () => {
    const hosts = parseAllowedHosts('')
    expect(hosts.includesName('')).toBe(false)
    expect(hosts.includesName('localhost')).toBe(false)
    expect(hosts.includesAddress('127.0.0.1')).toBe(false)
  })

  it('reads names, addresses and ranges', () => {
    const hosts = parseAllowedHosts(
      ' hooks.internal, 10.0.0.7,[fd00::7], 192.168.4.0/24 ,fd12::/16,,',
    )
    expect(hosts.includesName('hooks.internal')).toBe(true)
    expect(hosts.includesName('internal')).toBe(false)
    expect(hosts.includesName('x.hooks.internal')).toBe(false)
    const addresses = ['10.0.0.7', 'fd00::7', '192.168.4.0', '192.168.4.255', 'fd12:ffff::1']
    expect(addresses.filter((address) => !hosts.includesAddress(address))).toEqual([])
    expect(['10.0.0.8', 'fd00::8', '192.168.5.0', 'fd13::1'].filter(hosts.includesAddress)).toEqual(
      [],
    )
  })

  it('compares names in any case, in any script, with or without the dot at the end', () => {
    const hosts = parseAllowedHosts('Hooks.Internal.,bücher.internal,my_host')
    for (const name of [
      'hooks.internal',
      'HOOKS.INTERNAL.',
      'xn--bcher-kva.internal',
      'BÜCHER.internal',
      'my_host',
    ]) {
      expect(hosts.includesName(name)).toBe(true)
    }
  })

  it('reads an IPv4-mapped address as the IPv4 address', () => {
    expect(parseAllowedHosts('::ffff:10.0.0.7').includesAddress('10.0.0.7')).toBe(true)
  })

  it.each([
    ['http://hooks.internal'],
    ['hooks.internal:8080'],
    ['hooks.internal/'],
    ['*.internal'],
    ['two names'],
    ['user@host'],
    ['10.0.0.0/33'],
    ['10.0.0.0/'],
    ['10.0.0.0/8/8'],
    ['10.0.0.0/-1'],
    ['10.0.0.0/255.0.0.0'],
    ['fd00::/129'],
    // Addresses are compared in canonical form, so this range would match nothing.
    ['::ffff:10.0.0.0/104'],
    // Spellings of addresses that only URL parsers accept.
    ['127.1'],
    ['0x7f.1'],
    ['2130706433'],
    ['256.1.1.1'],
    ['[::1'],
    ['..'],
    ['a..b'],
  ])('refuses %s by its name', (entry) => {
    expect(() => parseAllowedHosts(`ok.internal,${entry}`)).toThrow(`"${entry}"`)
  })
})
