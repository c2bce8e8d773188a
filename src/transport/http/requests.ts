import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectNodeAdapterOptions } from '@connectrpc/connect-node'

/** A handler of HTTP requests of either version. */
export type RequestHandler = NonNullable<ConnectNodeAdapterOptions['fallback']>
export type HttpRequest = Parameters<RequestHandler>[0]
export type HttpResponse = Parameters<RequestHandler>[1]

/** The form of request ids from clients, which appear in the log and in responses. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** Returns the socket of a request. An HTTP/2 request itself only has a proxy of its socket. */
export function socketOf(request: HttpRequest): Socket | undefined {
  return 'stream' in request
    ? (request.stream.session?.socket as Socket | undefined)
    : request.socket
}

/** Returns the request id that the client chose if it is well-formed, otherwise a random one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}
