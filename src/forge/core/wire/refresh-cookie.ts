import { parseCookie } from 'cookie'

const NAME = 'branchline_refresh'

/** With `SameSite=Lax`, a browser does not send the cookie in POST requests from other sites. */
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Lax'

/**
 * Returns the `Set-Cookie` value that stores a refresh token in a browser.
 *
 * The package `cookie` writes the attributes in another order than the specification of the API
 * shows them.
 *
 * @param expireTime Unix seconds.
 * @param secure whether the request used HTTPS. A browser sends a `Secure` cookie over HTTPS only.
 */
export function refreshCookie(token: string, expireTime: number, secure: boolean): string {
  const expires = new Date(expireTime * 1000).toUTCString()
  return `${NAME}=${token}; ${ATTRIBUTES}; Expires=${expires}${secure ? '; Secure' : ''}`
}

/** Returns the `Set-Cookie` value that deletes the refresh token from a browser. */
export function clearedRefreshCookie(secure: boolean): string {
  return refreshCookie('', 0, secure)
}

/** Returns the refresh token in the cookies of a request, or undefined. */
export function readRefreshCookie(headers: Pick<Headers, 'get'>): string | undefined {
  return parseCookie(headers.get('cookie') ?? '', { decode: String })[NAME] || undefined
}
