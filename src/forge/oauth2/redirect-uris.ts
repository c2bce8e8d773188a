import { DomainError } from '../core/errors.ts'
import type { OAuth2Application } from './schema.ts'

const MAX_URI_CHARACTERS = 2048
const MAX_URIS = 50

/** Visible ASCII without the backslash, which browsers read as a slash. */
const URI = /^[!-[\]-~]+$/

/**
 * Domain names and addresses. The parser of URLs also takes `;`, `,` and `*` in a host, which have a
 * meaning in the content security policy of the consent page.
 */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/

/** RFC 8252 section 7.1: the scheme of an app is a domain name in reverse order. */
const SCHEME_OF_APP = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/

/** RFC 8252 section 7.3. The name `localhost` is included, since many clients use it. */
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Returns the redirect URIs of an application. */
export function redirectUrisOf({
  redirect_uris,
}: Pick<OAuth2Application, 'redirect_uris'>): string[] {
  return JSON.parse(redirect_uris) as string[]
}

/** Checks the redirect URIs of an application. */
export function checkRedirectUris(uris: readonly string[]): void {
  if (uris.length === 0 || uris.length > MAX_URIS)
    throw new DomainError('INVALID_REDIRECT_URI', { max_count: String(MAX_URIS) })
  for (const uri of uris)
    if (!parse(uri)) throw new DomainError('INVALID_REDIRECT_URI', { max_count: String(MAX_URIS) })
}

/**
 * Returns where to send the response to an authorization request, or undefined if the application
 * has no such redirect URI.
 *
 * URIs are compared as texts (RFC 9700 section 4.1.3). Only the port may differ, for a public client
 * on the user's own machine (RFC 8252 section 7.3).
 *
 * @param requested empty if the request names none, which selects the only one.
 */
export function findRedirect(application: OAuth2Application, requested: string): URL | undefined {
  const registered = redirectUrisOf(application)
  if (requested === '') {
    const [only, another] = registered
    return only === undefined || another !== undefined ? undefined : parse(only)
  }
  const url = parse(requested)
  if (!url) return undefined
  if (registered.includes(requested)) return url
  const isPublic = application.confidential === 0
  return isPublic && registered.some((uri) => differsInPort(new URL(uri), url)) ? url : undefined
}

/** Returns whether two URIs of the loopback interface are equal but for their ports. */
function differsInPort(registered: URL, requested: URL): boolean {
  return (
    LOOPBACK.has(requested.hostname) &&
    requested.hostname === registered.hostname &&
    requested.protocol === registered.protocol &&
    requested.pathname === registered.pathname &&
    requested.search === registered.search
  )
}

function parse(text: string): URL | undefined {
  if (text.length > MAX_URI_CHARACTERS || !URI.test(text) || text.includes('#')) return undefined
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return undefined
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:'
  const isKnown = isWeb ? HOST.test(url.hostname) : SCHEME_OF_APP.test(url.protocol)
  return isKnown ? url : undefined
}
