import type { BlockList, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type ContextKey, createContextKey } from '@connectrpc/connect'
import type { Peer } from '../../forge/core/access.ts'
import { isLoopback, peerNetwork } from '../../platform/http/listener/admission.ts'
import type { HttpRequest } from '../../platform/http/requests.ts'
import { isFromTrustedPage, isOwnHost, isOwnOrigin, isUnforgeable } from './foreign-pages.ts'
import {
  forwardedAddress,
  isForwarded,
  isForwardedHttps,
  isTrusted,
  unmapped,
} from './forwarding.ts'

/** Identifies the peers of requests. */
export interface Peers {
  /** Returns the client of a request, which may be behind a trusted proxy. */
  readonly peerOf: PeerOf
  /**
   * Returns the address that the connection comes from, which may be a proxy. IPv4-mapped IPv6 is
   * converted to IPv4.
   */
  connectedFrom(request: HttpRequest): string
  /** Returns whether the request came over https to this server or to a trusted proxy. */
  isSecure(request: HttpRequest): boolean
}

export type PeerOf = (request: HttpRequest) => Peer

/** Settings that identify peers. */
interface PeerOptions {
  /** Addresses of trusted reverse proxies. */
  readonly trustedProxies: BlockList
  /** Whether limits per peer apply to callers on this machine too. */
  readonly limitLoopback: boolean
  /** Returns the base of the URLs of the instance. */
  readonly publicUrl: () => string
}

/** Facts about a connection that hold for all its requests. */
interface Connected {
  readonly peer: Peer
  readonly isTrustedProxy: boolean
  /** The last host of a request. Most clients send the same one in every request. */
  lastHost?: { readonly host: string; readonly publicUrl: string; readonly isOwn: boolean }
}

/** The property of a request with its peer. A map would cost more than the identification. */
const PEER = Symbol('peer')

interface Identified {
  [PEER]?: Peer
}

/**
 * Creates the identification of peers.
 *
 * A request through a proxy on this machine does not count as a request from this machine.
 * Otherwise every client of the proxy would be an operator. The same holds for a request that a
 * page of another site may have sent through a browser on this machine.
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
    const { socket } = request
    const earlier = known.get(socket)
    if (earlier) return earlier
    const address = unmapped(socket.remoteAddress ?? 'unknown')
    const connected: Connected = {
      peer: peerAt(address, isLoopback(address)),
      isTrustedProxy: isTrusted(trustedProxies, address),
    }
    known.set(socket, connected)
    return connected
  }

  const identify = (request: HttpRequest): Peer => {
    const connected = connectedOf(request)
    const { peer, isTrustedProxy } = connected
    if (!peer.loopback && !isTrustedProxy) return peer
    if (isForwarded(request.headers)) {
      const address = isTrustedProxy ? forwardedAddress(request.headers, trustedProxies) : undefined
      return peerAt(address ?? peer.address, false)
    }
    return peer.loopback && mayBeForged(request, connected, publicUrl())
      ? { ...peer, loopback: false }
      : peer
  }

  return {
    peerOf(request: HttpRequest & Identified) {
      request[PEER] ??= identify(request)
      return request[PEER]
    },
    connectedFrom: (request) => connectedOf(request).peer.address,
    isSecure(request) {
      if (request.socket instanceof TLSSocket) return true
      return connectedOf(request).isTrustedProxy && isForwardedHttps(request.headers)
    },
  }
}

/**
 * Returns whether a page of another site may have sent a request through a browser. The signs are
 * `Origin`, `Sec-Fetch-Site`, a content type that needs no preflight, and a foreign host.
 */
function mayBeForged(
  { method, headers }: HttpRequest,
  connected: Connected,
  publicUrl: string,
): boolean {
  const { origin = null, 'sec-fetch-site': site, 'content-type': contentType = null } = headers
  const page = { origin, fetchSite: site === undefined ? null : String(site), contentType }
  const authority = headers[':authority']
  const host = authority === undefined ? headers.host : String(authority)
  if (host === undefined || !hasOwnHost(connected, host, publicUrl)) return true
  // An HTTP/2 request may have both.
  const isAmbiguous = headers.host !== undefined && headers.host !== host
  if (isAmbiguous && !isOwnHost(headers.host ?? '', publicUrl)) return true
  if (isFromTrustedPage(page, (from) => isOwnOrigin(from, host, publicUrl)) === false) return true
  const isRead = method === 'GET' || method === 'HEAD'
  return !isRead && !isUnforgeable(method, page)
}

function hasOwnHost(connected: Connected, host: string, publicUrl: string): boolean {
  const { lastHost } = connected
  if (lastHost?.host === host && lastHost.publicUrl === publicUrl) return lastHost.isOwn
  const isOwn = isOwnHost(host, publicUrl)
  connected.lastHost = { host, publicUrl, isOwn }
  return isOwn
}

/** Facts about a call that are known before authentication. */
interface CallOrigin {
  readonly peer: Peer
  /** The address that the connection comes from: that of the proxy for a peer behind one. */
  readonly connectedFrom: string
  /** The id that the client chose if it is well-formed, otherwise a random one. */
  readonly requestId: string
  /** `connect`, `grpc`, `grpc-web` or `rest`. */
  readonly protocol: string
}

/** The origin of a call. Set on every call. */
export const originKey: ContextKey<CallOrigin> = createContextKey<CallOrigin>(
  {
    peer: { address: 'unknown', loopback: false },
    connectedFrom: 'unknown',
    requestId: 'unknown',
    protocol: 'unknown',
  },
  { description: 'origin' },
)
