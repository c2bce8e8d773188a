const NAME = 'branchline_refresh'

/**
 * Lax keeps the cookie out of requests that other sites make, other than by navigating, which is
 * never a POST.
 */
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Lax'

/**
 * The `Set-Cookie` value that hands a refresh token to a browser.
 *
 * @param expireTime Unix seconds.
 * @param secure whether the request came over https: a browser would not send the cookie back over
 *   http.
 */
export function refreshCookie(token: string, expireTime: number, secure: boolean): string {
  const expires = new Date(expireTime * 1000).toUTCString()
  return `${NAME}=${token}; ${ATTRIBUTES}; Expires=${expires}${secure ? '; Secure' : ''}`
}

/** The `Set-Cookie` value that makes a browser forget its refresh token. */
export function clearedRefreshCookie(secure: boolean): string {
  return refreshCookie('', 0, secure)
}

/**
 * The refresh token in the cookies of a request (RFC 6265 section 4.2.1); undefined when there is
 * none.
 */
export function readRefreshCookie(headers: Pick<Headers, 'get'>): string | undefined {
  for (const pair of headers.get('cookie')?.split(';') ?? []) {
    const [name, value = ''] = pair.trim().split('=', 2)
    if (name === NAME && value !== '') return value
  }
  return undefined
}
