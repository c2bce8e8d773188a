import type { HttpRequest, HttpResponse } from './requests.ts'

/**
 * How long a browser may remember a preflight answer; Chromium keeps none for longer than two
 * hours.
 */
const PREFLIGHT_MAX_AGE_S = 7200

/** Methods of REST, which include those of the RPC protocols. */
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'

/**
 * What the four protocols send, and what this API adds. The header of a signing-in proxy is never
 * among them.
 */
const ALLOWED_HEADERS = [
  'Authorization',
  'Accept-Encoding',
  'Connect-Accept-Encoding',
  'Connect-Content-Encoding',
  'Connect-Protocol-Version',
  'Connect-Timeout-Ms',
  'Content-Encoding',
  'Content-Type',
  'Grpc-Message-Type',
  'Grpc-Timeout',
  'If-None-Match',
  'Sudo',
  'X-Forgejo-OTP',
  'X-Gitea-OTP',
  'X-Grpc-Web',
  'X-Request-Id',
  'X-Server-Timeout',
  'X-Service-OTP',
  'X-User-Agent',
].join(', ')

/** Response headers that scripts may read. */
const EXPOSED_HEADERS = [
  'Connect-Content-Encoding',
  'Content-Encoding',
  'ETag',
  'Grpc-Message',
  'Grpc-Status',
  'Grpc-Status-Details-Bin',
  'Link',
  'Location',
  'Retry-After',
  'WWW-Authenticate',
  'X-Error-Reason',
  'X-HasMore',
  'X-Page',
  'X-PageCount',
  'X-PerPage',
  'X-Request-Id',
  'X-Service-OTP',
  'X-Total',
  'X-Total-Count',
  'X-Truncated',
].join(', ')

/** Where the refresh cookie is answered with a token: an untrusted origin must not read it. */
const COOKIE_PATHS: ReadonlySet<string> = new Set([
  '/api/v1/auth/refresh',
  '/branchline.v1.AuthService/RefreshToken',
])

/** Cross-origin rules of an instance. */
export interface Cors {
  /**
   * Sets the headers that a cross-origin answer needs, and answers preflight requests.
   *
   * @returns whether the request is answered.
   */
  apply(request: HttpRequest, response: HttpResponse): boolean
}

/**
 * The Fetch standard's CORS protocol (https://fetch.spec.whatwg.org/#http-cors-protocol): every
 * origin may call with tokens, and only trusted ones with the browser's own credentials. No origin
 * is ever reflected together with credentials unless it is on the list (CVE-2024-41659 was that).
 *
 * @param trusted origins of the instance itself and those that the operator named.
 */
export function createCors(trusted: () => readonly string[]): Cors {
  return {
    apply(request, response) {
      const { origin } = request.headers
      if (origin === undefined) return false
      const isTrusted = trusted().includes(origin)
      const path = request.url?.split('?', 1)[0] ?? ''
      // `null` is what every sandboxed document and file has for an origin, so it names nobody.
      const readable = isTrusted || (origin !== 'null' && !COOKIE_PATHS.has(path))
      if (readable) {
        response.setHeader('access-control-allow-origin', origin)
        if (isTrusted) response.setHeader('access-control-allow-credentials', 'true')
      }
      const preflight =
        request.method === 'OPTIONS' &&
        request.headers['access-control-request-method'] !== undefined
      if (!preflight) {
        if (readable) response.setHeader('access-control-expose-headers', EXPOSED_HEADERS)
        return false
      }
      if (readable) {
        response.setHeader('access-control-allow-methods', ALLOWED_METHODS)
        response.setHeader('access-control-allow-headers', ALLOWED_HEADERS)
        response.setHeader('access-control-max-age', String(PREFLIGHT_MAX_AGE_S))
      }
      response.setHeader('vary', 'Origin')
      response.writeHead(204)
      response.end()
      return true
    },
  }
}
