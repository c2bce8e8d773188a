import { BlockList, isIPv6 } from 'node:net'

/**
 * Address ranges that user-supplied URLs may not lead to: this host, its networks, and everything
 * else that is not a public unicast address. The ranges follow the IANA registries of
 * special-purpose addresses (RFC 6890).
 */
const BLOCKED_RANGES: readonly string[] = [
  '0.0.0.0/8', // this network; Linux connects 0.0.0.0 to itself
  '10.0.0.0/8', // private, RFC 1918
  '100.64.0.0/10', // carrier NAT, RFC 6598; metadata services of some clouds
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local; metadata services of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments, RFC 6890
  '192.0.2.0/24', // documentation, RFC 5737
  '192.88.99.0/24', // 6to4 relays, RFC 7526
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks, RFC 2544
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
  '::/96', // unspecified, loopback, and IPv4-compatible addresses, RFC 4291
  '::ffff:0:0:0/96', // IPv4-translated, RFC 2765
  '64:ff9b:1::/48', // local NAT64, RFC 8215
  '100::/64', // discard, RFC 6666
  '2001::/23', // protocol assignments, RFC 2928, Teredo among them
  '2001:db8::/32', // documentation, RFC 3849
  '3fff::/20', // documentation, RFC 9637
  '5f00::/16', // segment routing, RFC 9602
  'fc00::/7', // unique local, RFC 4193
  'fe80::/10', // link-local
  'fec0::/10', // site-local, RFC 3879
  'ff00::/8', // multicast
]

const blocked = new BlockList()
for (const range of BLOCKED_RANGES) addRange(blocked, range)

/**
 * Returns whether user-supplied URLs may not lead to an address.
 *
 * @param address in canonical form, see `canonicalAddress`.
 */
export function isBlockedAddress(address: string): boolean {
  return includesAddress(blocked, embeddedIPv4(address) ?? address)
}

/**
 * Returns the canonical form of an address: without zone; an IPv4-mapped IPv6 address (RFC 4291
 * section 2.5.5.2) as IPv4, because the system connects to the IPv4 address; other IPv6 addresses
 * as in RFC 5952.
 *
 * @param address IPv4 in dotted decimal, or IPv6 in any form.
 */
export function canonicalAddress(address: string): string {
  if (!isIPv6(address)) return address
  const groups = groupsOf(address)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  return isMapped ? ipv4Of(groups[6], groups[7]) : normalised(address)
}

/** Returns whether a list contains an address. */
export function includesAddress(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Adds a range in CIDR notation to a list. */
export function addRange(list: BlockList, cidr: string): void {
  const [network = '', prefix] = cidr.split('/')
  list.addSubnet(network, Number(prefix), isIPv6(network) ? 'ipv6' : 'ipv4')
}

/**
 * Returns the IPv4 address that a translator derives from an IPv6 address: NAT64 (RFC 6052) or 6to4
 * (RFC 3056).
 */
function embeddedIPv4(address: string): string | undefined {
  if (!isIPv6(address)) return undefined
  const groups = groupsOf(address)
  if (groups[0] === 0x2002) return ipv4Of(groups[1], groups[2])
  const isNat64 =
    groups[0] === 0x64 && groups[1] === 0xff9b && groups.slice(2, 6).every((group) => group === 0)
  return isNat64 ? ipv4Of(groups[6], groups[7]) : undefined
}

function ipv4Of(high = 0, low = 0): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}

/** The eight 16-bit groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [before = '', after] = normalised(address).split('::')
  const numbersOf = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const [head, tail] = [numbersOf(before), numbersOf(after ?? '')]
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

/**
 * Normalises an IPv6 address as URLs do: hexadecimal groups, the longest run of zeros shortened.
 */
function normalised(address: string): string {
  const [withoutZone = ''] = address.split('%')
  return new URL(`http://[${withoutZone}]`).hostname.slice(1, -1)
}
