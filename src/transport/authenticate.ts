import type { Caller, Peer } from '../domain/access.ts'
import { authenticateBasic, authenticateBearer, authenticateToken } from '../domain/accounts/credentials.ts'
import type { App } from '../domain/app.ts'
import { DomainError } from '../domain/errors.ts'

/**
 * Scheme and token68 (RFC 9110 section 11.4): two words, and so neither several headers, which arrive joined by commas,
 * nor schemes with parameters.
 */
const AUTHORIZATION = /^([a-z]+) +([a-z0-9._~+/-]+=*)$/i

/**
 * The one reader of credentials, for every protocol and for Git.
 *
 * Credentials that are present and do not verify are refused, on public methods too: to answer as if they were absent
 * would show people less than they may see, without a word about why.
 *
 * @param headers of the request. Its cookies are no credentials.
 * @returns the caller; a promise only where something has to be looked up.
 * @throws BAD_CREDENTIALS, PASSWORD_SIGN_IN_CLOSED, RATE_LIMITED
 */
export function authenticate(app: App, headers: Pick<Headers, 'get'>, peer: Peer): Caller | Promise<Caller> {
  const authorization = headers.get('authorization')
  return authorization === null ? { kind: 'anonymous', peer } : verify(app, authorization, peer)
}

async function verify(app: App, authorization: string, peer: Peer): Promise<Caller> {
  const [, scheme = '', value = ''] = AUTHORIZATION.exec(authorization) ?? []
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return authenticateBearer(app, peer, value)
    case 'token':
      return authenticateToken(app, peer, value)
    case 'basic':
      return authenticateBasic(app, peer, decodeBasic(value))
    default:
      throw new DomainError('BAD_CREDENTIALS')
  }
}

/** RFC 7617 section 2: base64 of username, colon and password, in UTF-8. Only the username has no colons. */
function decodeBasic(value: string): { username: string; password: string } {
  const text = decodeUtf8(Buffer.from(value, 'base64'))
  const colon = text.indexOf(':')
  if (colon < 0) throw new DomainError('BAD_CREDENTIALS')
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** Text that is no UTF-8 holds no credentials of ours. */
function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new DomainError('BAD_CREDENTIALS')
  }
}
