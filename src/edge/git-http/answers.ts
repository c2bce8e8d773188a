import { constants } from 'node:http2'
import type { HttpResponse } from '../../platform/http/requests.ts'

/** The challenge that makes clients ask for credentials. Git credential helpers show the realm. */
const CHALLENGE = 'Basic realm="Branchline"'

/** Headers against caching, as git http-backend sends them, which old caches understand too. */
export const UNCACHED: Readonly<Record<string, string>> = {
  'cache-control': 'no-cache, max-age=0, must-revalidate',
  pragma: 'no-cache',
  expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
}

/**
 * Sends a sentence, which Git shows to its user. Does nothing after a response has begun.
 *
 * @param headers of the response in addition, names in lower case.
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

/** Answers a request to Git LFS in the form whose message `git lfs` shows to its user. */
export function answerLfs(response: HttpResponse): void {
  const message =
    'This server has no Git LFS. Remove the files from Git LFS (git lfs migrate export), then push again.'
  answerText(response, 501, JSON.stringify({ message }), {
    'content-type': 'application/vnd.git-lfs+json',
  })
}

/** Cuts a response off in a way that the client recognises as incomplete. */
export function abort(response: HttpResponse): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}
