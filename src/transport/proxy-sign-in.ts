import { type BlockList, isIPv6 } from 'node:net'
import type { DescMethod } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import type { StreamRequest, UnaryRequest } from '@connectrpc/connect'
import { userOfProxy } from '../domain/accounts/proxy-sign-in.ts'
import type { User } from '../domain/accounts/users.ts'
import type { App } from '../domain/app.ts'
import { DomainError } from '../domain/errors.ts'
import { originKey } from './connection.ts'

/** Which proxies are believed, and what they say in which headers; header names are in lower case. */
export interface ProxyTrust {
  readonly header: string
  readonly trustedProxies: BlockList
  readonly api: boolean
  readonly register: boolean
  readonly emailHeader: string | undefined
  readonly nameHeader: string | undefined
}

/** The part of a call that decides. */
export type ProxiedRequest = Pick<UnaryRequest | StreamRequest, 'contextValues' | 'header' | 'requestMethod'> & {
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
 * @param trustedOrigins the origin of the instance itself, and those that may send a browser's own credentials.
 * @returns proxy sign-in that has not yet warned of anybody.
 */
export function createProxySignIn(app: App, trust: ProxyTrust, trustedOrigins: () => readonly string[]): ProxySignIn {
  let warned = false
  return {
    api: trust.api,
    async userOf(request) {
      const name = readHeader(request, trust.header)
      if (name === '') return undefined
      const { peer } = request.contextValues.get(originKey)
      if (!isTrusted(trust.trustedProxies, peer.address)) {
        // Once: a stranger must not be able to fill the log.
        if (!warned) app.log.warn({ peer: peer.address }, 'the header of a proxy came from a peer that is not trusted')
        warned = true
        return undefined
      }
      // Repeated fields arrive joined by commas, and no username has one: one of two names may be the client's own.
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
 * Whether a peer is a trusted proxy, by the address that its connection comes from and by nothing that it sends: headers
 * such as X-Forwarded-For are whatever the client of a careless proxy wants them to be.
 */
export function isTrusted(trustedProxies: BlockList, peerAddress: string): boolean {
  // Whoever can connect to a Unix socket is on this machine.
  if (peerAddress === 'unix') return trustedProxies.check('127.0.0.1')
  const [address = ''] = peerAddress.split('%')
  return trustedProxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** What a form of another site cannot send: JSON, or one of the binary formats. A parameter may follow. */
const UNFORGEABLE_TYPE = /^application\/(json|proto|connect\+(json|proto)|grpc(-web)?(\+(json|proto))?)\s*(;|$)/i

const NATIVE_GRPC = /^application\/grpc(\+|;|\s|$)/i

/**
 * Refuses to change anything for a page of another site.
 *
 * The proxy names the user on each request that passes, whichever page caused it, as browsers send cookies. So a request
 * that changes something has to come from a page that is trusted, as its browser says (`Origin`, RFC 6454 section 7;
 * `Sec-Fetch-Site`, W3C Fetch Metadata), in a format that no form can send. Only native gRPC may leave both headers out:
 * no browser sends its type without `Origin`.
 *
 * @throws CROSS_SITE_REQUEST
 */
function checkSite({ method, header, requestMethod }: ProxiedRequest, trustedOrigins: readonly string[]): void {
  if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return
  const type = header.get('content-type')
  // No form and no simple request (Fetch standard, "CORS-safelisted method") can DELETE.
  const isFormatFine = type === null ? requestMethod !== 'POST' : UNFORGEABLE_TYPE.test(type)
  if (!isFormatFine || !isFromTrustedPage(header, trustedOrigins)) throw new DomainError('CROSS_SITE_REQUEST')
}

function isFromTrustedPage(header: Pick<Headers, 'get'>, trustedOrigins: readonly string[]): boolean {
  const origin = header.get('origin')
  if (origin !== null) return trustedOrigins.includes(origin)
  const site = header.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || site === 'none'
  return NATIVE_GRPC.test(header.get('content-type') ?? '')
}

/** Node reads header bytes as ISO 8859-1; proxies that have names in other scripts send UTF-8. */
function decodeUtf8(text: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1'))
  } catch {
    return text
  }
}
