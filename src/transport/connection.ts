import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type ContextKey, type ContextValues, createContextKey, createContextValues } from '@connectrpc/connect'
import type { ConnectNodeAdapterOptions } from '@connectrpc/connect-node'
import type { Peer } from '../domain/access.ts'
import { secureKey } from '../services/call.ts'

/** A handler of HTTP requests of either version. */
export type RequestHandler = NonNullable<ConnectNodeAdapterOptions['fallback']>
export type HttpRequest = Parameters<RequestHandler>[0]
export type HttpResponse = Parameters<RequestHandler>[1]

/** What the transport knows of a call before anybody is asked who makes it. */
export interface CallOrigin {
  readonly peer: Peer
  /** Of the caller's choosing if it is a sane one, else random. */
  readonly requestId: string
}

/** Where a call came from. Set on every call. */
export const originKey: ContextKey<CallOrigin> = createContextKey<CallOrigin>(
  { peer: { address: 'unknown', loopback: false }, requestId: 'unknown' },
  { description: 'origin' },
)

/** Whether a call has reached our interceptors, which is when its request has been read. */
export const begunKey: ContextKey<boolean> = createContextKey(false, { description: 'begun' })

/** What a request id from outside may look like: it is printed in the log and in an answer. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** Headers that a proxy adds when it passes on somebody else's request. */
const FORWARDING_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/**
 * Context values of a call.
 *
 * @param publicSecure whether the public URL is https, so that cookies are for https although a proxy in front speaks
 *   plain HTTP to us.
 */
export function contextValuesOf(request: HttpRequest, publicSecure: boolean): ContextValues {
  const values = createContextValues()
  values.set(originKey, originOfRequest(request))
  if (publicSecure || socketOf(request) instanceof TLSSocket) values.set(secureKey, true)
  return values
}

/** What the transport knows of a request. */
export function originOfRequest(request: HttpRequest): CallOrigin {
  return { peer: peerOf(request), requestId: requestIdOf(request.headers) }
}

/**
 * The other end of the connection.
 *
 * A request that a proxy on this machine passes on does not count as coming from this machine: else everybody behind
 * that proxy would be an operator.
 */
export function peerOf(request: HttpRequest): Peer {
  const peer = peerOfSocket(socketOf(request))
  if (!peer.loopback || !FORWARDING_HEADERS.some((name) => request.headers[name] !== undefined)) return peer
  return { address: peer.address, loopback: false }
}

const peers = new WeakMap<Socket, Peer>()

function peerOfSocket(socket: Socket | undefined): Peer {
  if (!socket) return { address: 'unknown', loopback: false }
  const known = peers.get(socket)
  if (known) return known
  // An IPv4 client of a dual-stack socket shows up as ::ffff:192.0.2.1 (RFC 4291 section 2.5.5.2).
  const address = (socket.remoteAddress ?? 'unknown').replace(/^::ffff:(?=\d+\.)/, '')
  const peer = { address, loopback: address === '::1' || address.startsWith('127.') }
  peers.set(socket, peer)
  return peer
}

/** HTTP/2 requests show a proxy of their socket; the session holds the real one. */
function socketOf(request: HttpRequest): Socket | undefined {
  return 'stream' in request ? (request.stream.session?.socket as Socket | undefined) : request.socket
}

/** The id that the caller chose for a request, and a random one if that is none. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}
