import type { HttpRequest, HttpResponse } from './requests.ts'

/** Time that a browser may cache a preflight response. Chromium's limit is two hours. */
const PREFLIGHT_MAX_AGE_S = 7200

/** The methods of REST, which include those of the RPC protocols. */
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'

/**
 * Request headers of the four protocols and of this API. The header of proxy sign-in is excluded.
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
  'X-Gitea-Warning',
  'X-HasMore',
  'X-Page',
  'X-PageCount',
  'X-PerPage',
  'X-Request-Id',
  'X-Search-Incomplete',
  'X-Service-OTP',
  'X-Total',
  'X-Total-Count',
  'X-Total-Count-Capped',
  'X-Truncated',
].join(', ')

/** Paths that answer the refresh cookie with a token, which an untrusted origin must not read. */
const COOKIE_PATHS: ReadonlySet<string> = new Set([
  '/api/v1/auth/refresh',
  '/branchline.v1.AuthService/RefreshToken',
])

/**
 * The page where users sign in to applications, which no script of another origin reads (RFC 9700
 * section 2.6).
 */
const SIGN_IN_PATH = '/login/oauth/authorize'

/** Cross-origin rules of an instance. */
export interface Cors {
  /**
   * Sets the headers of a cross-origin response, and answers preflight requests.
   *
   * @returns whether the request is answered.
   */
  apply(request: HttpRequest, response: HttpResponse): boolean
}

/**
 * Creates the CORS protocol of the Fetch standard
 * (https://fetch.spec.whatwg.org/#http-cors-protocol). Every origin may call with tokens, and only
 * trusted origins may use the credentials of a browser. Reflecting any other origin together with
 * credentials was CVE-2024-41659.
 *
 * @param trusted returns the origin of the instance and those of the operator.
 */
export function createCors(trusted: () => readonly string[]): Cors {
  return {
    apply(request, response) {
      const { origin } = request.headers
      if (origin === undefined) return false
      const isTrusted = trusted().includes(origin)
      const path = request.url?.split('?', 1)[0] ?? ''
      if (path === SIGN_IN_PATH) return false
      // Every sandboxed document and file has the origin `null`.
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
