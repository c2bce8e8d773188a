import { randomBytes } from 'node:crypto'
import { parseCookie } from 'cookie'
import { BROWSER_SESSION_LIFETIME_S } from '../../forge/accounts/credentials/browser-sessions.ts'
import type { HttpRequest } from '../../platform/http/requests.ts'
import type { Peers } from '../authentication/peers.ts'

/** Keeps a browser signed in. No API reads this cookie. */
const SESSION_COOKIE = 'branchline_sign_in'

/** A random value that ties forms, and visits to identity providers, to one browser. */
const BROWSER_COOKIE = 'branchline_browser'

const BROWSER_ID_BYTES = 18

/** How cookies reach the server. */
export interface CookieOptions {
  readonly peers: Peers
  /** Whether the public URL is https. */
  readonly publicSecure: boolean
}

/** Content of the cookies of a browser. */
interface BrowserCookies {
  /** Empty if the browser has none. */
  readonly session: string
  /** Undefined if the browser has none. */
  readonly browser: string | undefined
}

/** Reads the cookies of the sign-in pages. */
export function readCookies({ headers }: HttpRequest): BrowserCookies {
  const cookies = parseCookie(headers.cookie ?? '', { decode: String })
  return { session: cookies[SESSION_COOKIE] ?? '', browser: cookies[BROWSER_COOKIE] }
}

/** Returns a value for a browser that has none. */
export function newBrowserId(): string {
  return randomBytes(BROWSER_ID_BYTES).toString('base64url')
}

/** Returns the header that signs a browser in. Without a value, the header signs it out. */
export function sessionCookie(options: CookieOptions, http: HttpRequest, value = ''): string {
  const lifetimeS = value === '' ? 0 : BROWSER_SESSION_LIFETIME_S
  return cookie(options, http, SESSION_COOKIE, value, lifetimeS)
}

/** Returns the header that ties forms to a browser. */
export function browserCookie(options: CookieOptions, http: HttpRequest, value: string): string {
  return cookie(options, http, BROWSER_COOKIE, value, BROWSER_SESSION_LIFETIME_S)
}

/** With `SameSite=Lax`, a browser does not send the cookie with forms of other sites. */
function cookie(
  { peers, publicSecure }: CookieOptions,
  http: HttpRequest,
  name: string,
  value: string,
  maxAgeS: number,
): string {
  const attributes = `Path=/login/oauth; HttpOnly; SameSite=Lax; Max-Age=${maxAgeS}`
  const isSecure = publicSecure || peers.isSecure(http)
  return `${name}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`
}
