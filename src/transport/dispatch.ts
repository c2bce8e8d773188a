import type { Logger } from 'pino'
import { type HttpRequest, type HttpResponse, type RequestHandler, requestIdOf } from './connection.ts'
import type { Cors } from './cors.ts'
import { REQUEST_ID_HEADER } from './errors.ts'
import type { Pages } from './operator-pages.ts'

/**
 * Sends each request where it belongs: cross-origin preflight, the operator's pages, then the RPC protocols, whose
 * fallback is REST.
 */
export function createDispatch(cors: Cors, pages: Pages, calls: RequestHandler, log: Logger): RequestHandler {
  return (request, response) => {
    if (cors.apply(request, response)) return
    const page = request.method === 'GET' || request.method === 'HEAD' ? pages.get(pathOf(request)) : undefined
    if (!page) {
      setCallHeaders(request, response)
      return calls(request, response)
    }
    page(request, response).catch((err: unknown) => {
      log.error({ err, path: pathOf(request) }, 'a page failed')
      response.destroy()
    })
  }
}

/**
 * Sets the headers that the answer to every call has, unless the call sets them. On Node's response, because a
 * `Headers` for each call that has nothing else to set would take as long as reading a row.
 *
 * Answers are about one caller and one moment. Which origin may read them depends on the origin that asks.
 */
function setCallHeaders({ headers }: HttpRequest, response: HttpResponse): void {
  const requestId = requestIdOf(headers)
  // For the log line of the call.
  headers[REQUEST_ID_HEADER] = requestId
  response.setHeader(REQUEST_ID_HEADER, requestId)
  response.setHeader('vary', 'Origin')
  response.setHeader('cache-control', 'no-store')
  response.setHeader('x-content-type-options', 'nosniff')
}

/**
 * Answers gRPC calls of methods that are not served, as gRPC expects it (https://grpc.io/docs/guides/status-codes:
 * UNIMPLEMENTED), and passes on everything else.
 */
export function refuseUnknownRpcs(next: RequestHandler): RequestHandler {
  return (request, response) => {
    const contentType = request.headers['content-type']
    if (request.method !== 'POST' || !contentType?.startsWith('application/grpc')) return next(request, response)
    request.resume()
    const headers = { 'content-type': contentType, 'grpc-status': '12', 'grpc-message': 'this method is not served' }
    if ('stream' in response) {
      // Trailers-Only of gRPC is one HEADERS frame that ends the stream. Node would send an empty DATA frame after it, and
      // lose that to the RST_STREAM for the request it did not read.
      response.stream.respond({ ...response.getHeaders(), ...headers, ':status': 200 }, { endStream: true })
    } else {
      response.writeHead(200, headers)
      response.end()
    }
  }
}

function pathOf(request: HttpRequest): string {
  return request.url?.split('?', 1)[0] ?? ''
}
