import type { Logger } from 'pino'
import { refusalOfUnknownRpc } from './calls/unknown-rpcs.ts'
import { REQUEST_ID_HEADER } from './errors/index.ts'
import type { Cors } from './http/cors.ts'
import {
  type HttpRequest,
  type HttpResponse,
  type RequestHandler,
  requestIdOf,
} from './http/requests.ts'
import type { Pages } from './pages/operator-pages.ts'

/** The handlers that requests are sent to. */
export interface Destinations {
  readonly cors: Cors
  /** The operator's pages, for GET and HEAD. */
  readonly pages: Pages
  /** Paths of the RPCs that are served. */
  readonly rpcPaths: ReadonlySet<string>
  readonly rpcs: RequestHandler
  /** Answers what is a request of git, and says whether it was one. */
  readonly git: (request: HttpRequest, response: HttpResponse) => boolean
  /** Answers what is a request of the Go toolchain, and says whether it was one. */
  readonly goImport: (request: HttpRequest, response: HttpResponse) => boolean
  /** Gets everything that has no other place. Sets `answerHeaders` by itself. */
  readonly rest: RequestHandler
}

/** Sends each request where it belongs. No template of REST can take the path of an RPC away. */
export function createDispatch(
  { cors, pages, rpcPaths, rpcs, git, goImport, rest }: Destinations,
  log: Logger,
): RequestHandler {
  return (request, response) => {
    if (cors.apply(request, response)) return
    const path = pathOf(request)
    const page = pages.get(path)
    if (page) {
      setAnswerHeaders(request, response)
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return refuseMethod(request, response)
      page(request, response).catch((err: unknown) => {
        log.error({ err, path }, 'a page failed')
        response.destroy()
      })
    } else if (rpcPaths.has(path)) {
      setAnswerHeaders(request, response)
      rpcs(request, response)
    } else if (!git(request, response) && !goImport(request, response)) {
      const refuse = refusalOfUnknownRpc(request, path)
      if (!refuse) return rest(request, response)
      setAnswerHeaders(request, response)
      refuse(response)
    }
  }
}

function refuseMethod(request: HttpRequest, response: HttpResponse): void {
  request.resume()
  response.writeHead(405, { allow: 'GET, HEAD', 'content-length': '0' })
  response.end()
}

/**
 * The headers that every answer has, unless it sets them itself: names in lower case, each followed
 * by its value.
 *
 * Answers are about one caller and one moment. Which origin may read them depends on the origin
 * that asks.
 */
export function answerHeaders({ headers }: HttpRequest): string[] {
  const requestId = requestIdOf(headers)
  // For the log line of the call.
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

/** Sets them on Node's response, where they stay unless they are set again. */
function setAnswerHeaders(request: HttpRequest, response: HttpResponse): void {
  const headers = answerHeaders(request)
  for (let i = 0; i < headers.length; i += 2)
    response.setHeader(headers[i] ?? '', headers[i + 1] ?? '')
}

function pathOf({ url = '' }: HttpRequest): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}
