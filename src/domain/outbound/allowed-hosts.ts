import { BlockList, isIP, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import { addRange, canonicalAddress, includesAddress } from './addresses.ts'

/** The destinations that the operator allows although they are private. */
export interface AllowedHosts {
  /** Whether a host name is listed: all of its addresses are allowed then. */
  includesName(name: string): boolean
  /** @param address in canonical form. */
  includesAddress(address: string): boolean
}

/** Labels between dots, in any script. Everything else would be a URL, a pattern or a mistake. */
const HOST_NAME = /^[\p{L}\p{M}\p{N}_-]+(\.[\p{L}\p{M}\p{N}_-]+)*\.?$/u

/**
 * Reads a comma-separated list of host names, addresses and ranges in CIDR notation.
 *
 * @throws RangeError with a sentence that names the first bad entry.
 */
export function parseAllowedHosts(text: string): AllowedHosts {
  const names = new Set<string>()
  const addresses = new BlockList()
  const entries = text.split(',').map((entry) => entry.trim())
  for (const entry of entries.filter((entry) => entry !== '')) {
    const address = canonicalAddress(entry.replace(/^\[(.*)\]$/, '$1'))
    const name = comparableName(entry)
    if (isIP(address)) addresses.addAddress(address, isIPv6(address) ? 'ipv6' : 'ipv4')
    else if (isRange(entry)) addRange(addresses, entry)
    // A name that URLs take for an address, such as 127.1, would never be looked up.
    else if (HOST_NAME.test(entry) && name !== '' && !isIP(name)) names.add(name)
    else throw new RangeError(`"${entry}" is no host name, address or CIDR range.`)
  }
  return {
    includesName: (name) => names.has(comparableName(name)),
    includesAddress: (address) => includesAddress(addresses, address),
  }
}

function isRange(entry: string): boolean {
  const [, network = '', prefix] = /^(.+)\/(\d{1,3})$/.exec(entry) ?? []
  // An IPv4-mapped range would never match, as addresses are judged unwrapped.
  const isPlain =
    isIP(network) > 0 && canonicalAddress(network).includes(':') === network.includes(':')
  return isPlain && Number(prefix) <= (isIPv6(network) ? 128 : 32)
}

/** Host names are equal in any case, with or without the dot of the root (RFC 1034 section 3.1). */
function comparableName(name: string): string {
  return domainToASCII(name).replace(/\.$/, '')
}
