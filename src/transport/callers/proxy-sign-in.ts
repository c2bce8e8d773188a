import type { BlockList } from 'node:net'
import type { DescMethod } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import type { StreamRequest, UnaryRequest } from '@connectrpc/connect'
import { userOfProxy } from '../../domain/accounts/sign-on/proxy-sign-in.ts'
import type { User } from '../../domain/accounts/users/users.ts'
import type { App } from '../../domain/app.ts'
import { DomainError } from '../../domain/core/errors.ts'
import { isFromTrustedPage, isNativeGrpc, isUnforgeable } from './foreign-pages.ts'
import { isTrusted } from './forwarding.ts'
import { originKey } from './origin.ts'

/**
 * Which proxies are believed, and what they say in which headers; header names are in lower case.
 */
export interface ProxyTrust {
  readonly header: string
  readonly trustedProxies: BlockList
  readonly api: boolean
  readonly register: boolean
  readonly emailHeader: string | undefined
  readonly nameHeader: string | undefined
}

/** The part of a call that decides. */
export type ProxiedRequest = Pick<
  UnaryRequest | StreamRequest,
  'contextValues' | 'header' | 'requestMethod'
> & {
  readonly method: Pick<DescMethod, 'idempotency'>
}

/** Signs in whom a reverse proxy names. */
export interface ProxySignIn {
  /** Whether that is good for every method, and not only for starting a session. */
  readonly api: boolean
  /**
   * The account that a trusted proxy names; undefined when none does.
   *
   * @throws BAD_CREDENTIALS, CROSS_SITE_REQUEST
   */
  userOf(request: ProxiedRequest): Promise<User | undefined>
}

/**
 * @param trustedOrigins the origin of the instance itself, and those that may send a browser's own
 *   credentials.
 * @returns proxy sign-in that has not yet warned of anybody.
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
      // Not the peer: behind a trusted proxy, that is whom it speaks for.
      const { connectedFrom } = request.contextValues.get(originKey)
      if (!isTrusted(trust.trustedProxies, connectedFrom)) {
        // Once: a stranger must not be able to fill the log.
        if (!warned)
          app.log.warn(
            { peer: connectedFrom },
            'the header of a proxy came from a peer that is not trusted',
          )
        warned = true
        return undefined
      }
      // Repeated fields arrive joined by commas, and no username has one: one of two names may be
      // the client's own.
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
 * Refuses to change anything for a page of another site.
 *
 * The proxy names the user on each request that passes, whichever page caused it, as browsers send
 * cookies. So a request that changes something has to come from a page that is trusted, as its
 * browser says (`Origin`, RFC 6454 section 7; `Sec-Fetch-Site`, W3C Fetch Metadata), in a format
 * that no form can send. Only native gRPC may leave both headers out: no browser sends its type
 * without `Origin`.
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

/** Node reads header bytes as ISO 8859-1; proxies that have names in other scripts send UTF-8. */
function decodeUtf8(text: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1'))
  } catch {
    return text
  }
}
