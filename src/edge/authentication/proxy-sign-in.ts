import type { BlockList } from 'node:net'
import type { DescMethod } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import type { StreamRequest, UnaryRequest } from '@connectrpc/connect'
import { userOfProxy } from '../../forge/accounts/sign-on/sso-sign-in.ts'
import type { App } from '../../forge/app.ts'
import { DomainError } from '../../forge/core/errors.ts'
import type { User } from '../../forge/core/schema.ts'
import { isFromTrustedPage, isNativeGrpc, isUnforgeable } from './foreign-pages.ts'
import { isTrusted } from './forwarding.ts'
import { originKey } from './peers.ts'

/** The trusted proxies and their headers. Header names are in lower case. */
export interface ProxyTrust {
  readonly header: string
  readonly trustedProxies: BlockList
  readonly api: boolean
  readonly register: boolean
  readonly emailHeader: string | undefined
  readonly nameHeader: string | undefined
}

/** The parts of a call that proxy sign-in reads. */
type ProxiedRequest = Pick<
  UnaryRequest | StreamRequest,
  'contextValues' | 'header' | 'requestMethod'
> & {
  readonly method: Pick<DescMethod, 'idempotency'>
}

/** Signs in the users that a reverse proxy names. */
export interface ProxySignIn {
  /** Whether this works for every method, rather than only for starting a session. */
  readonly api: boolean
  /**
   * Returns the account that a trusted proxy names, or undefined.
   *
   * @throws BAD_CREDENTIALS, CROSS_SITE_REQUEST
   */
  userOf(request: ProxiedRequest): Promise<User | undefined>
}

/**
 * Creates the sign-in by a reverse proxy.
 *
 * @param trustedOrigins returns the origin of the instance and those that may use the credentials
 *   of a browser.
 */
export function createProxySignIn(
  app: App,
  trust: ProxyTrust,
  trustedOrigins: () => readonly string[],
): ProxySignIn {
  let warned = false
  return {
    api: trust.api,
    async userOf(request) {
      const name = readHeader(request, trust.header)
      if (name === '') return undefined
      // The peer would be the client behind the proxy.
      const { connectedFrom } = request.contextValues.get(originKey)
      if (!isTrusted(trust.trustedProxies, connectedFrom)) {
        // Logged once, so that nobody can fill the log.
        if (!warned)
          app.log.warn(
            { peer: connectedFrom },
            'the header of a proxy came from a peer that is not trusted',
          )
        warned = true
        return undefined
      }
      // Repeated fields arrive joined by commas, which no username contains. One of them may be
      // from the client.
      if (name.includes(',')) throw new DomainError('BAD_CREDENTIALS')
      checkSite(request, trustedOrigins())
      const identity = {
        username: name,
        email: readHeader(request, trust.emailHeader),
        displayName: decodeUtf8(readHeader(request, trust.nameHeader)),
      }
      return userOfProxy(app, identity, trust.register)
    },
  }
}

function readHeader({ header }: ProxiedRequest, name: string | undefined): string {
  return (name === undefined ? undefined : header.get(name)?.trim()) ?? ''
}

/**
 * Refuses changes that a page of another site requests.
 *
 * The proxy names the user on each request, whichever page sent it, as browsers do with cookies. A
 * request that changes something must therefore come from a trusted page by its headers (`Origin`,
 * RFC 6454 section 7; `Sec-Fetch-Site`, W3C Fetch Metadata), with a content type that no form can
 * send. Only native gRPC may lack both headers, since browsers never send its type without
 * `Origin`.
 *
 * @throws CROSS_SITE_REQUEST
 */
function checkSite(
  { method, header, requestMethod }: ProxiedRequest,
  trustedOrigins: readonly string[],
): void {
  if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return
  const page = {
    origin: header.get('origin'),
    fetchSite: header.get('sec-fetch-site'),
    contentType: header.get('content-type'),
  }
  const isTrustedPage =
    isFromTrustedPage(page, (origin) => trustedOrigins.includes(origin)) ?? isNativeGrpc(page)
  if (!isTrustedPage || !isUnforgeable(requestMethod, page))
    throw new DomainError('CROSS_SITE_REQUEST')
}

/** Decodes UTF-8 that Node has read as ISO 8859-1. Returns other text unchanged. */
function decodeUtf8(text: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1'))
  } catch {
    return text
  }
}
