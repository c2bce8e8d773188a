import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
} from '@connectrpc/connect'
import type { ConnectNodeAdapterOptions } from '@connectrpc/connect-node'
import type { Peer } from '../../domain/core/access.ts'
import { secureKey } from '../../services/wire/call.ts'
import type { Peers } from '../callers/peers.ts'
import { answerTo } from '../listener/answers.ts'
import { deadlineKept, timeoutOf } from '../rpc/rest/index.ts'
import { answerKey } from './answer-limits.ts'
import { expiresAtKey } from './deadlines.ts'

/** A handler of HTTP requests of either version. */
export type RequestHandler = NonNullable<ConnectNodeAdapterOptions['fallback']>
export type HttpRequest = Parameters<RequestHandler>[0]
export type HttpResponse = Parameters<RequestHandler>[1]

/** What the transport knows of a call before anybody is asked who makes it. */
export interface CallOrigin {
  readonly peer: Peer
  /** The address that the connection comes from: that of a proxy, where the peer is behind one. */
  readonly connectedFrom: string
  /** Of the caller's choosing if it is a sane one, else random. */
  readonly requestId: string
}

/** Where a call came from. Set on every call. */
export const originKey: ContextKey<CallOrigin> = createContextKey<CallOrigin>(
  { peer: { address: 'unknown', loopback: false }, connectedFrom: 'unknown', requestId: 'unknown' },
  { description: 'origin' },
)

/** Whether a call has reached our interceptors, which is when its request has been read. */
export const begunKey: ContextKey<boolean> = createContextKey(false, { description: 'begun' })

/** What a request id from outside may look like: it is printed in the log and in an answer. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Context values of a call.
 *
 * @param publicSecure whether the public URL is https, so that cookies are for https although a
 *   proxy in front speaks plain HTTP to us.
 */
export function contextValuesOf(
  request: HttpRequest,
  peers: Peers,
  publicSecure: boolean,
): ContextValues {
  const values = createContextValues()
  const requestId = requestIdOf(request.headers)
  values.set(originKey, {
    peer: peers.peerOf(request),
    connectedFrom: peers.connectedFrom(request),
    requestId,
  })
  values.set(answerKey, answerTo(request))
  const timeoutMs = readableTimeoutOf(request.headers)
  if (timeoutMs !== undefined) {
    values.set(expiresAtKey, performance.now() + timeoutMs)
    values.set(deadlineKept, true)
  }
  if (publicSecure || peers.isSecure(request)) values.set(secureKey, true)
  return values
}

/** A malformed one is for the protocol to refuse. */
function readableTimeoutOf(headers: IncomingHttpHeaders): number | undefined {
  try {
    return timeoutOf(headers, Number.MAX_SAFE_INTEGER)
  } catch {
    return undefined
  }
}

/** HTTP/2 requests show a proxy of their socket; the session holds the real one. */
export function socketOf(request: HttpRequest): Socket | undefined {
  return 'stream' in request
    ? (request.stream.session?.socket as Socket | undefined)
    : request.socket
}

/** The id that the caller chose for a request, and a random one if that is none. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}
