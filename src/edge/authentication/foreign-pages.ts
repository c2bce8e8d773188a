import { isIP } from 'node:net'

/** Headers that show whether a page in a browser sent a request, as `Headers.get` returns them. */
interface BrowserHeaders {
  /** `Origin` (RFC 6454 section 7). */
  readonly origin: string | null
  /** `Sec-Fetch-Site` (W3C Fetch Metadata). */
  readonly fetchSite: string | null
  readonly contentType: string | null
}

/** Content types that a form of another site cannot send. A parameter may follow. */
const UNFORGEABLE_TYPE =
  /^application\/(json|proto|connect\+(json|proto)|grpc(-web)?(\+(json|proto))?)\s*(;|$)/i

const NATIVE_GRPC = /^application\/grpc(\+|;|\s|$)/i

/**
 * Returns whether a page of another site needs a preflight to send a request with this method and
 * content type.
 */
export function isUnforgeable(
  method: string | undefined,
  { contentType }: BrowserHeaders,
): boolean {
  // Neither a form nor a simple request can use DELETE (Fetch standard, "CORS-safelisted method").
  return contentType === null ? method !== 'POST' : UNFORGEABLE_TYPE.test(contentType)
}

/**
 * Returns whether the page that sent a request is trusted, by the headers of the browser; undefined
 * without such headers, as for programs.
 */
export function isFromTrustedPage(
  { origin, fetchSite }: BrowserHeaders,
  isTrustedOrigin: (origin: string) => boolean,
): boolean | undefined {
  if (origin !== null) return isTrustedOrigin(origin)
  return fetchSite === null ? undefined : fetchSite === 'same-origin' || fetchSite === 'none'
}

/** Returns whether a request is native gRPC. Browsers never send its type without `Origin`. */
export function isNativeGrpc({ contentType }: BrowserHeaders): boolean {
  return NATIVE_GRPC.test(contentType ?? '')
}

/**
 * Returns whether a host can only mean this server: an IP address, a name of the loopback interface
 * (RFC 6761 section 6.3), or the name of the instance. The owner of any other name could resolve it
 * to this machine (DNS rebinding).
 *
 * @param authority `Host` or `:authority`, with or without a port.
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
 * Returns whether an origin belongs to the instance: it is the origin of the public URL, or of the
 * host of the request.
 */
export function isOwnOrigin(origin: string, authority: string, publicUrl: string): boolean {
  if (origin === new URL(publicUrl).origin) return true
  if (!URL.canParse(origin)) return false
  const { protocol, host } = new URL(origin)
  const own = `${protocol}//${authority}`
  return URL.canParse(own) && new URL(own).host === host && host !== ''
}
