import { constants } from 'node:http2'
import type { HttpResponse } from '../http/requests.ts'

/** What asks people for their credentials. Git credential helpers show the realm. */
const CHALLENGE = 'Basic realm="Branchline"'

/**
 * Refs change at any moment: the headers of git http-backend, which caches of every age understand.
 */
export const UNCACHED: Readonly<Record<string, string>> = {
  'cache-control': 'no-cache, max-age=0, must-revalidate',
  pragma: 'no-cache',
  expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
}

/**
 * Answers with a sentence, which git shows to people. Does nothing once an answer has begun.
 *
 * @param headers added to the answer, names in lower case.
 */
export function answerText(
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
  response.writeHead(status, all)
  response.end(body)
}

/** Cuts an answer off in a way that clients notice. */
export function abort(response: HttpResponse): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}
