import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Http2Request, Http2Response } from './listener/http2-messages.ts'

/** A request of either version of HTTP. */
export type HttpRequest = IncomingMessage | Http2Request

/** A response of either version of HTTP. */
export type HttpResponse = ServerResponse | Http2Response

/** A handler of HTTP requests of either version. */
export type RequestHandler = (request: HttpRequest, response: HttpResponse) => void

/** The form of request ids from clients, which appear in the log and in responses. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** Returns the request id that the client chose if it is well-formed, otherwise a random one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}
