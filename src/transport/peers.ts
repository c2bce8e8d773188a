import type { BlockList, Socket } from 'node:net'
import type { Peer } from '../domain/access.ts'
import { type HttpRequest, socketOf } from './connection.ts'
import { isLoopback, peerNetwork } from './listener/admission.ts'

/** Finds out who is at the other end of a request. */
export type PeerOf = (request: HttpRequest) => Peer

/** Whose word counts, and who is counted. */
export interface PeerOptions {
  /** Addresses of the reverse proxies that say truly whom they speak for. */
  readonly trustedProxies: BlockList
  /** Whether limits for each peer hold for callers on this machine, too. */
  readonly limitLoopback: boolean
}

/** Headers that a proxy adds when it passes on somebody else's request. */
const FORWARDING_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/**
 * Returns the function that finds the peer of a request.
 *
 * A request that a proxy on this machine passes on does not count as coming from this machine: else everybody behind
 * that proxy would be an operator.
 */
export function createPeerOf({ limitLoopback }: PeerOptions): PeerOf {
  const peers = new WeakMap<Socket, Peer>()

  const peerOfSocket = (socket: Socket | undefined): Peer => {
    if (!socket) return { address: 'unknown', loopback: false }
    const known = peers.get(socket)
    if (known) return known
    // An IPv4 client of a dual-stack socket shows up as ::ffff:192.0.2.1 (RFC 4291 section 2.5.5.2).
    const address = (socket.remoteAddress ?? 'unknown').replace(/^::ffff:(?=\d+\.)/, '')
    const loopback = isLoopback(address)
    const peer = { address, loopback, network: loopback && !limitLoopback ? undefined : peerNetwork(address) }
    peers.set(socket, peer)
    return peer
  }

  return (request) => {
    const peer = peerOfSocket(socketOf(request))
    if (!peer.loopback || !FORWARDING_HEADERS.some((name) => request.headers[name] !== undefined)) return peer
    return { ...peer, loopback: false }
  }
}
