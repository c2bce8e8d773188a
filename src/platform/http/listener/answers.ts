import type http from 'node:http'
import type { ClientConnection } from './connection.ts'
import type { CountedHttp1Response, CountedHttp2Response } from './counted-responses.ts'
import type { Http2Request } from './http2-messages.ts'
import type { Answer } from './outgoing.ts'

/** A request of either version of HTTP. */
type Request = http.IncomingMessage | Http2Request

/** Starts to count the bytes of the response to a request. */
export type CountAnswer = (
  connection: ClientConnection,
  request: Request,
  response: CountedHttp1Response | CountedHttp2Response,
) => void

/** The property of a request with its account. A map would cost more than all the counting. */
const ANSWER = Symbol('answer')

interface Counted {
  [ANSWER]?: Answer
}

/**
 * Creates the function that starts counting.
 *
 * @param networkOf returns the network of the peer, or undefined for a peer without limits. By
 *   default, the network of the connection.
 */
export function countAnswers(
  networkOf: ((request: Request) => string | undefined) | undefined,
): CountAnswer {
  return (connection, request, response) => {
    const network = networkOf ? networkOf(request) : connection.peer
    const carrier: Request & Counted = request
    carrier[ANSWER] = response.beginCounting(connection.outgoing, network)
  }
}

/**
 * Returns the account of the response to a request; undefined for a request that did not come
 * through the listener.
 */
export function answerTo(request: Request): Answer | undefined {
  return (request as Counted)[ANSWER]
}
