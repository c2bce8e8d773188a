import {
  authenticateBasic,
  authenticateBearer,
  authenticateToken,
  type PasswordCredentials,
} from '../../domain/accounts/credentials/credentials.ts'
import type { App } from '../../domain/app.ts'
import type { Caller, Peer } from '../../domain/core/access.ts'
import { DomainError } from '../../domain/core/errors.ts'
import { readPasscodeHeader } from '../../services/wire/passcode-header.ts'
import { PASSCODE_CHALLENGE } from '../errors/credentials.ts'
import { refusal } from '../errors/index.ts'

/**
 * Scheme and token68 (RFC 9110 section 11.4): two words, and so neither several headers, which
 * arrive joined by commas, nor schemes with parameters.
 */
const AUTHORIZATION = /^([a-z]+) +([a-z0-9._~+/-]+=*)$/i

/**
 * The one reader of credentials, for every protocol and for Git.
 *
 * Credentials that are present and do not verify are refused, on public methods too: to answer as
 * if they were absent would show people less than they may see, without a word about why.
 *
 * @param headers of the request. Its cookies are no credentials.
 * @returns the caller; a promise only where something has to be looked up.
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

async function verify(
  app: App,
  authorization: string,
  headers: Pick<Headers, 'get'>,
  peer: Peer,
): Promise<Caller> {
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

/**
 * A wrong passcode is answered with the challenge too, by which clients of Basic know to ask their
 * user again.
 */
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
 * RFC 7617 section 2: base64 of username, colon and password, in UTF-8. Only the username has no
 * colons.
 */
function decodeBasic(value: string): PasswordCredentials {
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
