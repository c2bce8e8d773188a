import { type ContextKey, createContextKey } from '@connectrpc/connect'
import {
  authenticateBasic,
  authenticateBearer,
  authenticateToken,
  knownBearer,
  type PasswordCredentials,
} from '../../forge/accounts/credentials/credentials.ts'
import { PASSCODE_CHALLENGE } from '../../forge/accounts/errors.ts'
import type { App } from '../../forge/app.ts'
import type { Caller, Peer } from '../../forge/core/access.ts'
import { DomainError } from '../../forge/core/errors.ts'
import { readPasscodeHeader } from '../../forge/core/wire/passcode-header.ts'
import type { HttpRequest } from '../../platform/http/requests.ts'
import { refusal } from '../errors.ts'

/** How most clients write the scheme. */
const BEARER = 'Bearer '

/**
 * A scheme and a token68 (RFC 9110 section 11.4). Neither several headers, which arrive joined by
 * commas, nor schemes with parameters match.
 */
const AUTHORIZATION = /^([a-z]+) +([a-z0-9._~+/-]+=*)$/i

/**
 * Authenticates a request of any protocol, Git included.
 *
 * Invalid credentials are refused on public methods too. Treating them as absent would return less
 * than the caller may see, without saying why.
 *
 * @param headers of the request. Cookies are not credentials.
 * @returns the caller, as a promise only where a look-up is needed.
 * @throws BAD_CREDENTIALS, PASSWORD_SIGN_IN_CLOSED, TWO_FACTOR_REQUIRED, RATE_LIMITED; ConnectError
 *   for a wrong passcode.
 */
export function authenticate(
  app: App,
  headers: Pick<Headers, 'get'>,
  peer: Peer,
): Caller | Promise<Caller> {
  const authorization = headers.get('authorization')
  return authorization === null
    ? { kind: 'anonymous', peer }
    : verify(app, authorization, headers, peer)
}

function verify(
  app: App,
  authorization: string,
  headers: Pick<Headers, 'get'>,
  peer: Peer,
): Caller | Promise<Caller> {
  // The usual request is one of many with the same token.
  const known = authorization.startsWith(BEARER)
    ? knownBearer(app, peer, authorization.slice(BEARER.length))
    : undefined
  if (known) return known
  const [, scheme = '', value = ''] = AUTHORIZATION.exec(authorization) ?? []
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return authenticateBearer(app, peer, value)
    case 'token':
      return authenticateToken(app, peer, value)
    case 'basic':
      return verifyBasic(app, peer, decodeBasic(value), readPasscodeHeader(headers))
    default:
      throw new DomainError('BAD_CREDENTIALS')
  }
}

/** Adds the challenge to the refusal of a wrong passcode, so that clients ask their user again. */
async function verifyBasic(
  app: App,
  peer: Peer,
  credentials: PasswordCredentials,
  passcode: string,
): Promise<Caller> {
  try {
    return await authenticateBasic(app, peer, credentials, passcode)
  } catch (error) {
    if (!(error instanceof DomainError) || error.reason !== 'TWO_FACTOR_INVALID') throw error
    const refused = refusal(error.reason)
    refused.metadata.set(...PASSCODE_CHALLENGE)
    throw refused
  }
}

/**
 * Decodes base64 of username, colon and password, in UTF-8 (RFC 7617 section 2). A username has no
 * colon.
 */
function decodeBasic(value: string): PasswordCredentials {
  const text = decodeUtf8(Buffer.from(value, 'base64'))
  const colon = text.indexOf(':')
  if (colon < 0) throw new DomainError('BAD_CREDENTIALS')
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** @throws BAD_CREDENTIALS when the bytes are not UTF-8. */
function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new DomainError('BAD_CREDENTIALS')
  }
}

/** The account to act as, from the query of a REST request; undefined without one. */
export const sudoQueryKey: ContextKey<string | undefined> = createContextKey<string | undefined>(
  undefined,
  {
    description: 'sudo of the query',
  },
)

/**
 * Returns the parameter `sudo` of a REST request, which clients of compatible systems use instead
 * of the header; undefined when it is missing or empty. Different names are joined to one that no
 * account has.
 */
export function sudoOfQuery({ url = '' }: HttpRequest): string | undefined {
  const start = url.indexOf('?')
  if (start < 0) return undefined
  return joined(new URLSearchParams(url.slice(start)).getAll('sudo'))
}

/** Returns the account to act as, from the header `Sudo` or the query; undefined without one. */
export function wantedAccount(
  header: Pick<Headers, 'get'>,
  query: string | undefined,
): string | undefined {
  return joined([header.get('sudo') ?? '', query ?? ''])
}

function joined(names: readonly string[]): string | undefined {
  const distinct = new Set(names.map((name) => name.trim().toLowerCase()))
  distinct.delete('')
  return distinct.size === 0 ? undefined : [...distinct].join(',')
}
