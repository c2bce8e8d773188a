import { isIPv4 } from 'node:net'

/** An open connection, as admission sees it. */
export interface Admitted {
  /** The network of the peer; undefined for a peer without limits. */
  readonly peer: string | undefined
  /** Returns whether a request is in flight. Such a connection is never evicted. */
  isBusy(): boolean
  /** Closes the connection at once. */
  evict(): void
}

// Connections that are examined for one new connection at a limit. Busy ones move to the end of the
// queue, so that a flood of new connections still reaches every idle one.
const MAX_LOOKS = 64

/**
 * The set of open connections, with a limit in total and one per peer network. At a limit, a new
 * connection replaces the connection that has been idle longest. A flood of idle connections thus
 * evicts itself, and busy connections stay.
 *
 * The order is that of the clock algorithm (F. J. Corbató, "A paging experiment with the Multics
 * system", 1968): oldest first, except that a busy connection moves to the end. Requests cost
 * nothing.
 */
export class Admission<T extends Admitted> {
  readonly #maxTotal: number
  readonly #maxPerPeer: number
  readonly #all = new Set<T>()
  readonly #byPeer = new Map<string, Set<T>>()

  constructor(maxTotal: number, maxPerPeer: number) {
    this.#maxTotal = maxTotal
    this.#maxPerPeer = maxPerPeer
  }

  get size(): number {
    return this.#all.size
  }

  [Symbol.iterator](): SetIterator<T> {
    return this.#all[Symbol.iterator]()
  }

  /**
   * Adds a connection, and evicts an idle one at a limit. Returns false when no idle one was found.
   */
  admit(newcomer: T): boolean {
    const { peer } = newcomer
    const siblings = peer === undefined ? undefined : this.#byPeer.get(peer)
    if (siblings !== undefined && siblings.size >= this.#maxPerPeer && !this.#evictOne(siblings))
      return false
    if (this.#all.size >= this.#maxTotal && !this.#evictOne(this.#all)) return false
    this.#all.add(newcomer)
    if (peer !== undefined) this.#peersOf(peer).add(newcomer)
    return true
  }

  /** Removes a connection, if it is in the set. */
  remove(connection: T): void {
    this.#all.delete(connection)
    if (connection.peer === undefined) return
    const siblings = this.#byPeer.get(connection.peer)
    siblings?.delete(connection)
    if (siblings?.size === 0) this.#byPeer.delete(connection.peer)
  }

  /**
   * Closes the connection that has been idle longest, for example when the process has no file
   * descriptors left.
   */
  evictIdle(): boolean {
    return this.#evictOne(this.#all)
  }

  #peersOf(peer: string): Set<T> {
    let siblings = this.#byPeer.get(peer)
    if (siblings === undefined) {
      siblings = new Set()
      this.#byPeer.set(peer, siblings)
    }
    return siblings
  }

  #evictOne(line: Set<T>): boolean {
    let looks = Math.min(line.size, MAX_LOOKS)
    for (const connection of line) {
      if (looks-- === 0) return false
      if (!connection.isBusy()) {
        this.remove(connection)
        connection.evict()
        return true
      }
      line.delete(connection)
      line.add(connection)
    }
    return false
  }
}

/** Returns whether an address is 127.0.0.0/8, also mapped to IPv6, or ::1. */
export function isLoopback(address: string): boolean {
  const mapped = address.slice(address.lastIndexOf(':') + 1)
  return address === '::1' || (isIPv4(mapped) && mapped.startsWith('127.'))
}

/**
 * Returns the network that limits apply to: the address for IPv4, the /64 for IPv6, since a host
 * has at least a /64 (RFC 6177).
 */
export function peerNetwork(address: string): string {
  const mapped = address.slice(address.lastIndexOf(':') + 1)
  if (isIPv4(mapped)) return mapped
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0')
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':')
}
