import { lookup, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { canonicalAddress, isBlockedAddress } from './addresses.ts'
import type { AllowedHosts } from './allowed-hosts.ts'
import { OutboundError } from './errors.ts'

/** How a name is looked up. */
export interface LookupOptions {
  /** The name comes from whoever runs this server, not from a stranger. */
  readonly isTrusted: boolean
  /** Once it fires, nobody waits for the answer. */
  readonly signal: AbortSignal
}

/** Finds the addresses of a host name. It fails, or finds none, when there are none. */
export type Resolve = (name: string, options: LookupOptions) => Promise<readonly string[]>

/** For one question to one name server. */
const QUERY_TIMEOUT_MS = 2_000
const QUERY_TRIES = 2

const HOSTS_FILE = '/etc/hosts'

/**
 * Looks names up as this machine does.
 *
 * The system's own lookup holds one of the four threads of libuv's pool for as long as the name
 * servers take, and passwords are hashed on the same threads. So it is for trusted names; those of
 * strangers, whose name servers may be slow on purpose, are looked for in the hosts file, then
 * asked for without a thread.
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
 * The addresses that a service is reached at on this machine.
 *
 * @param host what it listens on: for the unspecified address or a name, those of every interface,
 *   as they are now.
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

/** What a host leads to, and whether strangers may send the server there. */
export interface Destinations {
  /**
   * The addresses of a URL's host, looked up once, in canonical form. Whoever connects must connect
   * to these, since another lookup may answer something else.
   *
   * @param options.isTrusted the URL was set by an administrator: its addresses are not judged.
   * @throws OutboundError UNRESOLVABLE_HOST, or BLOCKED_ADDRESS when any of the addresses is.
   */
  resolve(url: URL, options: LookupOptions): Promise<readonly string[]>
}

/** @returns a judge of destinations. */
export function createDestinations({
  allowedHosts,
  ownAddresses,
  resolve,
}: {
  readonly allowedHosts: AllowedHosts
  /** Addresses that this service is reached at. They are blocked as private ones are. */
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

/** In canonical form, at least one. */
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
