import type { BlockList, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Peer } from '../../domain/core/access.ts'
import { type HttpRequest, socketOf } from '../http/requests.ts'
import { isLoopback, peerNetwork } from '../listener/admission.ts'
import { isFromTrustedPage, isOwnHost, isOwnOrigin, isUnforgeable } from './foreign-pages.ts'
import {
  forwardedAddress,
  isForwarded,
  isForwardedHttps,
  isTrusted,
  unmapped,
} from './forwarding.ts'

/** Finds out who is at the other end of a request. */
export interface Peers {
  /** Who makes the request: behind a trusted proxy, the one whom it speaks for. */
  readonly peerOf: PeerOf
  /**
   * The address that the connection comes from, IPv4-mapped IPv6 unwrapped: a proxy's own, where
   * there is one.
   */
  connectedFrom(request: HttpRequest): string
  /** Whether the request came over https, to this server or to a trusted proxy in front of it. */
  isSecure(request: HttpRequest): boolean
}

export type PeerOf = (request: HttpRequest) => Peer

/** Whose word counts, and who is counted. */
export interface PeerOptions {
  /** Addresses of the reverse proxies that say truly whom they speak for. */
  readonly trustedProxies: BlockList
  /** Whether limits for each peer hold for callers on this machine, too. */
  readonly limitLoopback: boolean
  /** Base of the instance's URLs. */
  readonly publicUrl: () => string
}

/** What is known of a connection before any of its requests. */
interface Connected {
  readonly peer: Peer
  readonly isTrustedProxy: boolean
}

/**
 * Returns what finds the peers of requests.
 *
 * A request that a proxy on this machine passes on does not count as coming from this machine: else
 * everybody behind that proxy would be an operator. Nor does one that a page of another site may
 * have made a browser on this machine send.
 */
export function createPeers({ trustedProxies, limitLoopback, publicUrl }: PeerOptions): Peers {
  const known = new WeakMap<Socket, Connected>()

  const peerAt = (address: string, loopback: boolean): Peer => {
    return {
      address,
      loopback,
      network: loopback && !limitLoopback ? undefined : peerNetwork(address),
    }
  }
  const connectedOf = (request: HttpRequest): Connected => {
    const socket = socketOf(request)
    if (!socket) return { peer: { address: 'unknown', loopback: false }, isTrustedProxy: false }
    const earlier = known.get(socket)
    if (earlier) return earlier
    const address = unmapped(socket.remoteAddress ?? 'unknown')
    const connected = {
      peer: peerAt(address, isLoopback(address)),
      isTrustedProxy: isTrusted(trustedProxies, address),
    }
    known.set(socket, connected)
    return connected
  }

  return {
    peerOf(request) {
      const { peer, isTrustedProxy } = connectedOf(request)
      if (!peer.loopback && !isTrustedProxy) return peer
      if (isForwarded(request.headers)) {
        const address = isTrustedProxy
          ? forwardedAddress(request.headers, trustedProxies)
          : undefined
        return peerAt(address ?? peer.address, false)
      }
      return peer.loopback && mayBeForged(request, publicUrl())
        ? { ...peer, loopback: false }
        : peer
    },
    connectedFrom: (request) => connectedOf(request).peer.address,
    isSecure(request) {
      if (socketOf(request) instanceof TLSSocket) return true
      return connectedOf(request).isTrustedProxy && isForwardedHttps(request.headers)
    },
  }
}

/**
 * Whether a page of another site may have made a browser send a request, by all that browsers say:
 * `Origin`, `Sec-Fetch-Site`, a format that needs no permission, or a host that is not this
 * server's.
 */
function mayBeForged({ method, headers }: HttpRequest, publicUrl: string): boolean {
  const { origin = null, 'sec-fetch-site': site, 'content-type': contentType = null } = headers
  const page = { origin, fetchSite: site === undefined ? null : String(site), contentType }
  const hosts = [headers[':authority'], headers.host]
    .filter((host) => host !== undefined)
    .map(String)
  const [host = ''] = hosts
  if (hosts.length === 0 || !hosts.every((named) => isOwnHost(named, publicUrl))) return true
  if (isFromTrustedPage(page, (from) => isOwnOrigin(from, host, publicUrl)) === false) return true
  const isRead = method === 'GET' || method === 'HEAD'
  return !isRead && !isUnforgeable(method, page)
}
