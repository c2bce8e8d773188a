import { isIPv4 } from 'node:net'

/** What admission has to know of an open connection. */
export interface Admitted {
  /** The peer's network, or undefined when it is not counted. */
  readonly peer: string | undefined
  /** Whether a request is in flight: such a connection is never evicted. */
  isBusy(): boolean
  /** Closes the connection at once. */
  evict(): void
}

// What a newcomer may cost when all places are taken. Busy connections move to the back of the line
// as they are found, so a flood of newcomers still reaches every idle one, a few looks at a time.
const MAX_LOOKS = 64

/**
 * The set of open connections, with a cap in total and one per peer network. When a cap is reached,
 * the connection that has been idle longest makes room for the newcomer: a flood of idle
 * connections evicts itself, and those that work are left alone.
 *
 * The order is that of the clock algorithm (F. J. Corbató, "A paging experiment with the Multics
 * system", 1968): oldest first, except that a connection found busy goes to the back. It costs
 * nothing per request.
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
   * Adds a connection, at the cost of an idle one if need be. Returns false when there is no place
   * for it.
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

  /** Forgets a connection; one that is not known is no error. */
  remove(connection: T): void {
    this.#all.delete(connection)
    if (connection.peer === undefined) return
    const siblings = this.#byPeer.get(connection.peer)
    siblings?.delete(connection)
    if (siblings?.size === 0) this.#byPeer.delete(connection.peer)
  }

  /**
   * Closes the connection that has been idle longest, for instance when the process is out of file
   * descriptors.
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

/** Whether an address is of this machine: 127.0.0.0/8, also mapped to IPv6, or ::1. */
export function isLoopback(address: string): boolean {
  const mapped = address.slice(address.lastIndexOf(':') + 1)
  return address === '::1' || (isIPv4(mapped) && mapped.startsWith('127.'))
}

/**
 * The network by which a peer is counted: the address for IPv4, the /64 for IPv6, where a host has
 * a whole /64 to itself (RFC 6177).
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
