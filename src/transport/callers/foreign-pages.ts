import { isIP } from 'node:net'

/**
 * The headers by which a browser gives away that a page sent a request, as `Headers.get` reads
 * them.
 */
export interface BrowserHeaders {
  /** `Origin` (RFC 6454 section 7). */
  readonly origin: string | null
  /** `Sec-Fetch-Site` (W3C Fetch Metadata). */
  readonly fetchSite: string | null
  readonly contentType: string | null
}

/**
 * What a form of another site cannot send: JSON, or one of the binary formats. A parameter may
 * follow.
 */
const UNFORGEABLE_TYPE =
  /^application\/(json|proto|connect\+(json|proto)|grpc(-web)?(\+(json|proto))?)\s*(;|$)/i

const NATIVE_GRPC = /^application\/grpc(\+|;|\s|$)/i

/**
 * Whether a page of another site cannot send a request of this method and format without asking
 * first.
 */
export function isUnforgeable(
  method: string | undefined,
  { contentType }: BrowserHeaders,
): boolean {
  // No form and no simple request (Fetch standard, "CORS-safelisted method") can DELETE.
  return contentType === null ? method !== 'POST' : UNFORGEABLE_TYPE.test(contentType)
}

/**
 * Whether the browser that sent a request says that a trusted page made it do so; undefined where
 * no browser says anything, as is so for programs.
 */
export function isFromTrustedPage(
  { origin, fetchSite }: BrowserHeaders,
  isTrustedOrigin: (origin: string) => boolean,
): boolean | undefined {
  if (origin !== null) return isTrustedOrigin(origin)
  return fetchSite === null ? undefined : fetchSite === 'same-origin' || fetchSite === 'none'
}

/** Whether a request is native gRPC by its type, which no browser sends without `Origin`. */
export function isNativeGrpc({ contentType }: BrowserHeaders): boolean {
  return NATIVE_GRPC.test(contentType ?? '')
}

/**
 * Whether a host that a request names can only be this server's: an IP address, a name of the
 * loopback interface (RFC 6761 section 6.3), or the name of the instance. Any other name may have
 * been pointed at this machine by the page that asks (DNS rebinding).
 *
 * @param authority `Host` or `:authority`, with or without a port.
 * @param publicUrl of the instance.
 */
export function isOwnHost(authority: string, publicUrl: string): boolean {
  if (!URL.canParse(`http://${authority}`)) return false
  const { hostname, username, password } = new URL(`http://${authority}`)
  if (username !== '' || password !== '') return false
  const name = hostname.replace(/\.$/, '')
  const isLocalName = name === 'localhost' || name.endsWith('.localhost')
  return (
    isLocalName ||
    isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 ||
    name === new URL(publicUrl).hostname
  )
}

/**
 * Whether an origin is that of the instance: of its public URL, or of the host that the request
 * itself names.
 */
export function isOwnOrigin(origin: string, authority: string, publicUrl: string): boolean {
  if (origin === new URL(publicUrl).origin) return true
  if (!URL.canParse(origin)) return false
  const { protocol, host } = new URL(origin)
  const own = `${protocol}//${authority}`
  return URL.canParse(own) && new URL(own).host === host && host !== ''
}
