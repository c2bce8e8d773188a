import { Code } from '@connectrpc/connect'
import type { App } from '../../forge/app.ts'
import type { HttpRequest, HttpResponse } from '../../platform/http/requests.ts'
import { REQUEST_ID_HEADER, toConnectError } from '../errors.ts'
import { authorizeHandler, callbackHandler } from './authorize.ts'
import type { CookieOptions } from './cookies.ts'
import { ENDPOINTS, keysHandler, metadataHandler } from './discovery.ts'
import { type EndpointReply, type Handler, jsonReply, sendEndpointReply } from './exchange.ts'
import { tokenEndpoints } from './token-endpoints.ts'

/** Seconds after which a client should try again while the database is away. */
const RETRY_AFTER_SECONDS = '5'

interface Route {
  readonly methods: readonly string[]
  readonly handle: Handler
}

/**
 * Creates the handler of the OAuth 2.0 and OpenID Connect endpoints.
 *
 * @returns a handler that answers requests to these endpoints only, and returns whether a request
 *   was one. Default headers are set before.
 */
export function createOAuth2(
  app: App,
  options: CookieOptions,
): {
  readonly isEndpoint: (path: string) => boolean
  readonly answer: (path: string, request: HttpRequest, response: HttpResponse) => void
} {
  const routes = routesOf(app, options)
  const callback = { methods: ['GET'], handle: callbackHandler(app, options) }
  const routeOf = (path: string) =>
    path.startsWith(ENDPOINTS.callback) ? callback : routes.get(path)
  return {
    isEndpoint: (path) => routeOf(path) !== undefined,
    answer(path, request, response) {
      const route = routeOf(path)
      if (!route?.methods.includes(request.method ?? '')) {
        request.resume()
        const allow = route?.methods.join(', ') ?? ''
        return sendEndpointReply(response, { status: 405, headers: { allow }, body: '' })
      }
      answer(app, path, route.handle, request).then(
        (reply) => sendEndpointReply(response, reply),
        () => response.destroy(),
      )
    },
  }
}

function routesOf(app: App, options: CookieOptions): ReadonlyMap<string, Route> {
  const { token, introspect, revoke, userInfo } = tokenEndpoints(app)
  const metadata = { methods: ['GET', 'HEAD'], handle: metadataHandler(app) }
  const forClients = (handle: Handler): Route => ({ methods: ['POST'], handle })
  return new Map<string, Route>([
    [ENDPOINTS.authorize, { methods: ['GET', 'POST'], handle: authorizeHandler(app, options) }],
    [ENDPOINTS.token, forClients(token)],
    [ENDPOINTS.introspect, forClients(introspect)],
    [ENDPOINTS.revoke, forClients(revoke)],
    [ENDPOINTS.userInfo, { methods: ['GET', 'HEAD', 'POST'], handle: userInfo }],
    [ENDPOINTS.keys, { methods: ['GET', 'HEAD'], handle: keysHandler(app) }],
    ['/.well-known/openid-configuration', metadata],
    ['/.well-known/oauth-authorization-server', metadata],
  ])
}

/** Answers with JSON for a failure that no handler knows, and logs it unless it is expected. */
async function answer(
  app: App,
  path: string,
  handle: Handler,
  request: HttpRequest,
): Promise<EndpointReply> {
  const startMs = performance.now()
  const reply = await handle(request).catch((thrown: unknown) => failureReply(app, path, thrown))
  // The address may contain a code or a state, so that only the path is logged.
  app.log[request.method === 'POST' ? 'info' : 'debug']({
    request_id: request.headers[REQUEST_ID_HEADER],
    oauth2: path,
    status: reply.status,
    duration_ms: Math.round((performance.now() - startMs) * 1000) / 1000,
  })
  return reply
}

function failureReply(app: App, path: string, thrown: unknown): EndpointReply {
  const error = toConnectError(thrown)
  const { code, rawMessage: error_description } = error
  if (code === Code.ResourceExhausted)
    return jsonReply(413, { error: 'invalid_request', error_description })
  if (code === Code.Canceled) return jsonReply(400, { error: 'invalid_request' })
  if (code === Code.Unavailable)
    return jsonReply(
      503,
      { error: 'temporarily_unavailable', error_description },
      { 'retry-after': RETRY_AFTER_SECONDS },
    )
  app.log.error({ err: thrown, path }, 'an OAuth 2.0 request failed')
  return jsonReply(500, { error: 'server_error' })
}
