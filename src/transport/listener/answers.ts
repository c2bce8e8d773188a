import type http from 'node:http'
import type http2 from 'node:http2'
import type { ClientConnection } from './connection.ts'
import type { CountedHttp1Response, CountedHttp2Response } from './counted-responses.ts'
import type { Answer } from './outgoing.ts'

/** A request of either version of HTTP. */
type Request = http.IncomingMessage | http2.Http2ServerRequest

/** Begins to count what is written in answer to a request. */
export type CountAnswer = (
  connection: ClientConnection,
  request: Request,
  response: CountedHttp1Response | CountedHttp2Response,
) => void

/**
 * Where a request keeps the account of its answer: looking in a map would cost more than all the
 * counting.
 */
const ANSWER = Symbol('answer')

interface Counted {
  [ANSWER]?: Answer
}

/**
 * Counts the answers to requests.
 *
 * @param networkOf the network of the peer that asks; undefined for one that is not counted. Left
 *   out, that of the connection counts.
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
 * The account of the answer to a request; undefined for a request that did not come by our
 * listener.
 */
export function answerTo(request: Request): Answer | undefined {
  return (request as Counted)[ANSWER]
}
