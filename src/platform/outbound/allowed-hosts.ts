import { BlockList, isIP, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import { addRange, canonicalAddress, includesAddress } from './addresses.ts'

/** The private destinations that the operator allows. */
export interface AllowedHosts {
  /** Returns whether a host name is listed. All addresses of a listed name are allowed. */
  includesName(name: string): boolean
  /** @param address in canonical form. */
  includesAddress(address: string): boolean
}

/** Labels between dots, in any script. Any other text is a URL, a pattern or a mistake. */
const HOST_NAME = /^[\p{L}\p{M}\p{N}_-]+(\.[\p{L}\p{M}\p{N}_-]+)*\.?$/u

/**
 * Parses a comma-separated list of host names, addresses and ranges in CIDR notation.
 *
 * @throws RangeError with a sentence that names the first invalid entry.
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
    // URL parsers read a name such as 127.1 as an address and never look it up.
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
  // An IPv4-mapped range would match nothing, because addresses are compared in canonical form.
  const isPlain =
    isIP(network) > 0 && canonicalAddress(network).includes(':') === network.includes(':')
  return isPlain && Number(prefix) <= (isIPv6(network) ? 128 : 32)
}

/** Host names are equal in any case, with or without the dot of the root (RFC 1034 section 3.1). */
function comparableName(name: string): string {
  return domainToASCII(name).replace(/\.$/, '')
}
