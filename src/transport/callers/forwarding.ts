import type { IncomingHttpHeaders } from 'node:http'
import { type BlockList, isIP, isIPv6, SocketAddress } from 'node:net'

/** Headers beside `X-Forwarded-*` that a proxy adds when it passes on somebody else's request. */
const FORWARDING_HEADERS: ReadonlySet<string> = new Set([
  'cf-connecting-ip',
  'client-ip',
  'fastly-client-ip',
  'forwarded',
  'true-client-ip',
  'via',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'x-real-ip',
])

/**
 * More proxies than any request passes. Reading a longer list would be work for whoever made it up.
 */
const MAX_CHAIN = 32

/**
 * One `forwarded-pair` of RFC 7239 section 4, with what separates it from the next: `;` within an
 * element, `,` between elements.
 */
const FORWARDED_PAIR =
  /\s*([!#$%&'*+.^_`|~0-9a-z-]+)=(?:([!#$%&'*+.^_`|~0-9a-z-]+)|"((?:[^"\\]|\\.)*)")\s*(;|,|$)/iy

/** Whether a request says in any way that a proxy passed it on. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  for (const name in headers)
    if (name.startsWith('x-forwarded-') || FORWARDING_HEADERS.has(name)) return true
  return false
}

/**
 * Whether a peer is a trusted proxy, by the address that its connection comes from and by nothing
 * that it sends: headers such as X-Forwarded-For are whatever the client of a careless proxy wants
 * them to be.
 */
export function isTrusted(trustedProxies: BlockList, peerAddress: string): boolean {
  // Whoever can connect to a Unix socket is on this machine.
  if (peerAddress === 'unix') return trustedProxies.check('127.0.0.1')
  const [address = ''] = peerAddress.split('%')
  return trustedProxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/**
 * Whom a trusted proxy speaks for: the rightmost address of the chain that is not a trusted proxy
 * itself, and the leftmost where all are. What stands to its left is the client's own word.
 *
 * `X-Forwarded-For` and `Forwarded` (RFC 7239) are both read. Most proxies write one of them and
 * pass on the other as the client sent it, so two that lead to different addresses name nobody.
 *
 * @returns an address in its canonical form; undefined when no header names anybody, or one is
 *   malformed.
 */
export function forwardedAddress(
  headers: IncomingHttpHeaders,
  trustedProxies: BlockList,
): string | undefined {
  const chains = [forwardedForChain(headers), forwardedChain(headers)].filter(
    (chain) => chain !== undefined,
  )
  const [first, second = first] = chains.map((chain) => originator(chain, trustedProxies))
  return first === second ? first : undefined
}

/**
 * Whether a trusted proxy says that the client spoke https to the first proxy of the chain: by
 * `X-Forwarded-Proto`, else by `Forwarded`.
 */
export function isForwardedHttps(headers: IncomingHttpHeaders): boolean {
  const [proto] = listOf(headers['x-forwarded-proto']) ?? forwardedValues(headers, 'proto') ?? []
  return proto?.toLowerCase() === 'https'
}

function originator(chain: readonly string[], trustedProxies: BlockList): string | undefined {
  if (chain.length > MAX_CHAIN) return undefined
  const addresses = chain.map(parseNode)
  if (addresses.includes(undefined)) return undefined
  const known = addresses.filter((address) => address !== undefined)
  return known.findLast((address) => !isTrusted(trustedProxies, address)) ?? known[0]
}

function forwardedForChain(headers: IncomingHttpHeaders): readonly string[] | undefined {
  return listOf(headers['x-forwarded-for'])
}

function forwardedChain(headers: IncomingHttpHeaders): readonly string[] | undefined {
  return forwardedValues(headers, 'for')
}

/** The elements of a header that is a list, of all its lines. */
function listOf(header: string | string[] | undefined): string[] | undefined {
  return header === undefined
    ? undefined
    : String(header)
        .split(',')
        .map((element) => element.trim())
}

/**
 * The value of one parameter in each element of `Forwarded`; empty where the element has none or is
 * malformed.
 */
function forwardedValues(headers: IncomingHttpHeaders, parameter: string): string[] | undefined {
  const { forwarded } = headers
  if (forwarded === undefined) return undefined
  const text = String(forwarded)
  const values = ['']
  FORWARDED_PAIR.lastIndex = 0
  while (FORWARDED_PAIR.lastIndex < text.length) {
    const [, name = '', token, quoted, separator] = FORWARDED_PAIR.exec(text) ?? []
    if (separator === undefined) return ['']
    if (name.toLowerCase() === parameter) {
      // A parameter may occur once in an element.
      if (values.at(-1) !== '') return ['']
      values[values.length - 1] = token ?? quoted?.replace(/\\(.)/g, '$1') ?? ''
    }
    if (separator === ',') values.push('')
  }
  return values
}

/**
 * The address of a `node` (RFC 7239 section 6) or of an element of `X-Forwarded-For`: with or
 * without a port, IPv6 with or without brackets.
 */
function parseNode(node: string): string | undefined {
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\](?::\d{1,5})?|([0-9.]+):\d{1,5})$/.exec(node) ?? []
  const address = bracketed ?? dotted ?? node
  const version = isIP(address)
  // A zone is of the machine that wrote it, and means nothing here.
  if (version === 0 || address.includes('%') || (bracketed !== undefined && version !== 6))
    return undefined
  return unmapped(new SocketAddress({ address, family: version === 4 ? 'ipv4' : 'ipv6' }).address)
}

/**
 * An IPv4 address that came as IPv6, ::ffff:192.0.2.1 (RFC 4291 section 2.5.5.2), as IPv4; any
 * other as it is.
 */
export function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '')
}
