import type { IncomingHttpHeaders } from 'node:http'
import { type BlockList, isIP, isIPv6, SocketAddress } from 'node:net'

/** Headers, in addition to `X-Forwarded-*`, that a proxy adds to requests. */
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

/** More proxies than any real request passes. Longer lists are not read. */
const MAX_CHAIN = 32

/**
 * One `forwarded-pair` of RFC 7239 section 4 with the separator after it: `;` within an element,
 * `,` between elements.
 */
const FORWARDED_PAIR =
  /\s*([!#$%&'*+.^_`|~0-9a-z-]+)=(?:([!#$%&'*+.^_`|~0-9a-z-]+)|"((?:[^"\\]|\\.)*)")\s*(;|,|$)/iy

/** Returns whether any header says that the request came through a proxy. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  for (const name in headers)
    if (name.startsWith('x-forwarded-') || FORWARDING_HEADERS.has(name)) return true
  return false
}

/**
 * Returns whether a peer is a trusted proxy. Only the address of its connection counts, because
 * clients can forge headers such as X-Forwarded-For.
 */
export function isTrusted(trustedProxies: BlockList, peerAddress: string): boolean {
  // The client of a Unix socket is on this machine.
  if (peerAddress === 'unix') return trustedProxies.check('127.0.0.1')
  const [address = ''] = peerAddress.split('%')
  return trustedProxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/**
 * Returns the client that a trusted proxy names: the rightmost address of the chain that is not a
 * trusted proxy, or the leftmost when all are. The addresses to its left are claims of the client.
 *
 * `X-Forwarded-For` and `Forwarded` (RFC 7239) are both read. Most proxies write one of them and
 * pass on the other as the client sent it. Headers that lead to different addresses are therefore
 * ignored.
 *
 * @returns an address in canonical form; undefined when no header has one, or one is malformed.
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
 * Returns whether the client used https to the first proxy of the chain, by `X-Forwarded-Proto` or
 * else by `Forwarded`.
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

/** Returns the elements of a list header, over all its lines. */
function listOf(header: string | string[] | undefined): string[] | undefined {
  return header === undefined
    ? undefined
    : String(header)
        .split(',')
        .map((element) => element.trim())
}

/**
 * Returns the value of a parameter in each element of `Forwarded`, empty where an element lacks the
 * parameter. A malformed header gives one empty value.
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
      // A parameter may occur only once in an element.
      if (values.at(-1) !== '') return ['']
      values[values.length - 1] = token ?? quoted?.replace(/\\(.)/g, '$1') ?? ''
    }
    if (separator === ',') values.push('')
  }
  return values
}

/**
 * Returns the address of a `node` (RFC 7239 section 6) or of an element of `X-Forwarded-For`, which
 * may have a port and, for IPv6, brackets.
 */
function parseNode(node: string): string | undefined {
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\](?::\d{1,5})?|([0-9.]+):\d{1,5})$/.exec(node) ?? []
  const address = bracketed ?? dotted ?? node
  const version = isIP(address)
  // A zone has a meaning only on the machine that wrote it.
  if (version === 0 || address.includes('%') || (bracketed !== undefined && version !== 6))
    return undefined
  return unmapped(new SocketAddress({ address, family: version === 4 ? 'ipv4' : 'ipv6' }).address)
}

/**
 * Converts an IPv4-mapped IPv6 address, such as ::ffff:192.0.2.1 (RFC 4291 section 2.5.5.2), to
 * IPv4. Returns other addresses unchanged.
 */
export function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '')
}
