import type { Logger } from 'pino'
import type { Cors } from '../platform/http/cors.ts'
import {
  type HttpRequest,
  type HttpResponse,
  type RequestHandler,
  requestIdOf,
} from '../platform/http/requests.ts'
import { REQUEST_ID_HEADER } from './errors.ts'
import type { createOAuth2 } from './oauth2/index.ts'
import type { Pages } from './operator-pages/operator-pages.ts'
import type { UnsubscribePage } from './unsubscribe.ts'
import type { WebPages } from './web-shell/index.ts'

/** The handlers of requests. */
interface Destinations {
  readonly cors: Cors
  /** Pages for operators and tools, for GET and HEAD. */
  readonly pages: Pages
  /** Answers the endpoints of OAuth 2.0 and OpenID Connect. */
  readonly oauth2: ReturnType<typeof createOAuth2>
  /** Answers the links in mails about notifications. */
  readonly unsubscribe: UnsubscribePage
  /** Answers gRPC, gRPC-Web and Connect, and returns whether the request was a call. */
  readonly rpc: (path: string, request: HttpRequest, response: HttpResponse) => boolean
  /** Answers Git requests only, and returns whether the request was one. */
  readonly git: (request: HttpRequest, response: HttpResponse) => boolean
  /** Answers requests of Git LFS only, and returns whether the request was one. */
  readonly lfs: (request: HttpRequest, response: HttpResponse) => boolean
  /** Answers requests of the Go toolchain only, and returns whether the request was one. */
  readonly goImport: (request: HttpRequest, response: HttpResponse) => boolean
  /** Web pages for people; undefined to serve none. */
  readonly web: WebPages | undefined
  /** Answers all other requests. Sets `answerHeaders` itself. */
  readonly rest: RequestHandler
}

/** Creates the handler that selects the handler of each request. RPCs take precedence over REST. */
export function createDispatch(
  { cors, pages, oauth2, unsubscribe, rpc, git, lfs, goImport, web, rest }: Destinations,
  log: Logger,
): RequestHandler {
  const run = (answered: Promise<void>, path: string, response: HttpResponse) => {
    answered.catch((err: unknown) => {
      log.error({ err, path }, 'a page failed')
      response.destroy()
    })
  }
  return (request, response) => {
    if (cors.apply(request, response)) return
    const path = pathOf(request)
    const page = pages.get(path)
    if (page) {
      setAnswerHeaders(request, response)
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return refuseMethod(request, response)
      run(page(request, response), path, response)
    } else if (oauth2.isEndpoint(path)) {
      setAnswerHeaders(request, response)
      oauth2.answer(path, request, response)
    } else if (unsubscribe.isPage(path)) {
      setAnswerHeaders(request, response)
      unsubscribe.answer(request, response)
    } else if (
      !rpc(path, request, response) &&
      !git(request, response) &&
      !lfs(request, response) &&
      !goImport(request, response)
    ) {
      const webPage = web?.(path, request)
      if (!webPage) return rest(request, response)
      setAnswerHeaders(request, response)
      run(webPage(request, response), path, response)
    }
  }
}

function refuseMethod(request: HttpRequest, response: HttpResponse): void {
  request.resume()
  response.writeHead(405, { allow: 'GET, HEAD', 'content-length': '0' })
  response.end()
}

/**
 * Returns the default headers of all responses: names in lower case, each followed by its value.
 *
 * A response is for one caller and one moment, so that caches must not store it. Its CORS headers
 * depend on the origin of the request.
 */
export function answerHeaders({ headers }: HttpRequest): string[] {
  const requestId = requestIdOf(headers)
  // The log line of the call has the same id.
  headers[REQUEST_ID_HEADER] = requestId
  return [
    REQUEST_ID_HEADER,
    requestId,
    'vary',
    'Origin',
    'cache-control',
    'no-store',
    'x-content-type-options',
    'nosniff',
  ]
}

/** Sets the default headers, which a handler may overwrite. */
function setAnswerHeaders(request: HttpRequest, response: HttpResponse): void {
  const headers = answerHeaders(request)
  for (let i = 0; i < headers.length; i += 2)
    response.setHeader(headers[i] ?? '', headers[i + 1] ?? '')
}

function pathOf({ url = '' }: HttpRequest): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}
