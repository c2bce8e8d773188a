import { constants } from 'node:http2'
import type { HttpRequest, HttpResponse } from '../connection.ts'
import { closeStreamAfter, linger } from '../rest/node.ts'

/** What asks people for their credentials. Git credential helpers show the realm. */
const CHALLENGE = 'Basic realm="Branchline"'

/** Refs change at any moment: the headers of git http-backend, which caches of every age understand. */
export const UNCACHED: Readonly<Record<string, string>> = {
  'cache-control': 'no-cache, max-age=0, must-revalidate',
  pragma: 'no-cache',
  expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
}

/**
 * Answers with a sentence, which git shows to people, and reads no more of the request. Does nothing once an answer has begun.
 *
 * @param headers added to the answer, names in lower case.
 */
export function answerText(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  const body = `${message}\n`
  const all: Record<string, string | number> = {
    ...UNCACHED,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...headers,
  }
  if (status === 401) all['www-authenticate'] = CHALLENGE
  if ('stream' in response) {
    response.writeHead(status, all)
    closeStreamAfter(response.stream)
    response.end(body)
  } else if (request.complete) {
    response.writeHead(status, all)
    response.end(body)
  } else {
    // A client that is still sending would have its connection reset, and would not get to read why.
    response.writeHead(status, { ...all, connection: 'close' })
    linger(request, response, body)
  }
}

/** Cuts an answer off in a way that clients notice. */
export function abort(response: HttpResponse): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}
