import { lookup, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { canonicalAddress, isBlockedAddress } from './addresses.ts'
import type { AllowedHosts } from './allowed-hosts.ts'
import { OutboundError } from './errors.ts'

/** Options of a lookup. */
export interface LookupOptions {
  /** The name comes from the operator or an administrator, not from a user. */
  readonly isTrusted: boolean
  /** Cancels the lookup. */
  readonly signal: AbortSignal
}

/** Finds the addresses of a host name. Throws, or returns an empty list, when there are none. */
export type Resolve = (name: string, options: LookupOptions) => Promise<readonly string[]>

/** The timeout of one query to one name server. */
const QUERY_TIMEOUT_MS = 2_000
const QUERY_TRIES = 2

const HOSTS_FILE = '/etc/hosts'

/**
 * Looks names up with the resolver of this machine.
 *
 * The system's lookup (getaddrinfo) occupies one of the four threads of libuv's pool until the name
 * servers answer, and passwords are hashed on the same threads. Name servers of names that users
 * supply may be slow on purpose, so these names are looked up in the hosts file, and then with a
 * resolver that uses no thread.
 */
export const resolveBySystem: Resolve = async (name, { isTrusted, signal }) => {
  if (isTrusted) return (await lookup(name, { all: true })).map(({ address }) => address)
  const known = await findInHostsFile(name)
  return known.length > 0 ? known : askNameServers(name, signal)
}

async function findInHostsFile(name: string): Promise<string[]> {
  const text = await readFile(HOSTS_FILE, 'utf8').catch(() => '')
  const entries = text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/))
  return entries.filter(([, ...names]) => names.includes(name)).map(([address = '']) => address)
}

async function askNameServers(name: string, signal: AbortSignal): Promise<string[]> {
  signal.throwIfAborted()
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel)
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/**
 * Returns the addresses of this machine at which the server is reachable.
 *
 * @param host the host that the server listens on. For the unspecified address or a name, the
 *   result contains the current addresses of all interfaces.
 */
export function boundAddresses(host: string): string[] {
  if (isIP(host) && !isUnspecified(host)) return [host]
  return Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).map(({ address }) => address),
  )
}

function isUnspecified(address: string): boolean {
  return ['0.0.0.0', '::'].includes(canonicalAddress(address))
}

/** Resolves hosts and checks whether user-supplied URLs may lead to them. */
export interface Destinations {
  /**
   * Returns the addresses of a URL's host in canonical form, after one lookup. Callers must connect
   * to these addresses, because another lookup may return others.
   *
   * @param options.isTrusted an administrator set the URL, so its addresses are not checked.
   * @throws OutboundError UNRESOLVABLE_HOST, or BLOCKED_ADDRESS when any of the addresses is
   *   blocked.
   */
  resolve(url: URL, options: LookupOptions): Promise<readonly string[]>
}

/** Creates the check of destinations. */
export function createDestinations({
  allowedHosts,
  ownAddresses,
  resolve,
}: {
  readonly allowedHosts: AllowedHosts
  /** Returns the addresses of this server. They are blocked as private addresses are. */
  readonly ownAddresses: () => readonly string[]
  readonly resolve: Resolve
}): Destinations {
  return {
    async resolve(url, options) {
      const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
      const isTrusted = options.isTrusted || allowedHosts.includesName(host)
      const addresses = await addressesOf(host, resolve, { ...options, isTrusted })
      if (isTrusted) return addresses
      const own = ownAddresses().map(canonicalAddress)
      const isBlocked = (address: string) =>
        (isBlockedAddress(address) || own.includes(address)) &&
        !allowedHosts.includesAddress(address)
      if (addresses.some(isBlocked)) throw new OutboundError('BLOCKED_ADDRESS')
      return addresses
    },
  }
}

/** Returns at least one address, in canonical form. */
async function addressesOf(
  host: string,
  resolve: Resolve,
  options: LookupOptions,
): Promise<string[]> {
  if (isIP(host)) return [canonicalAddress(host)]
  const found = await resolve(host, options).catch((cause: unknown) => {
    throw new OutboundError('UNRESOLVABLE_HOST', { cause })
  })
  const addresses = found.filter((address) => isIP(address)).map(canonicalAddress)
  if (addresses.length === 0) throw new OutboundError('UNRESOLVABLE_HOST')
  return addresses
}
