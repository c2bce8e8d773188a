import type { AccountsApp } from '../accounts/ports.ts'
import { DomainError } from '../core/errors.ts'
import { hasInvisibleCharacters } from '../core/invisible-characters.ts'
import { findClient } from './clients.ts'
import { readRequestedScopes } from './granted-scopes.ts'
import { findRedirect } from './redirect-uris.ts'
import { OAuth2Refusal, type RefusalCode } from './refusals.ts'
import type { OAuth2Application } from './schema.ts'

/** Where the response to an authorization request goes. */
interface ResponseTarget {
  readonly application: OAuth2Application
  readonly redirect: URL
  /** Undefined if the request has none. */
  readonly state: string | undefined
}

/** An authorization request (RFC 6749 section 4.1.1, OpenID Connect Core section 3.1.2.1). */
export interface AuthorizationRequest extends ResponseTarget {
  /** As the request has it; empty if the request has none. */
  readonly redirectUri: string
  readonly scopes: readonly string[]
  /** Of PKCE (RFC 7636), by S256. */
  readonly codeChallenge: string | null
  readonly nonce: string | null
  readonly prompts: readonly string[]
  /** How long ago the user may have authenticated, in seconds. */
  readonly maxAgeS: number | undefined
}

/** A valid request, or its refusal: on a page, or at the redirect URI. */
type ReadRequest =
  | { readonly kind: 'request'; readonly request: AuthorizationRequest }
  | { readonly kind: 'refused'; readonly location: string }
  | { readonly kind: 'unusable'; readonly problem: string }

/** BASE64URL of a SHA-256 (RFC 7636 section 4.2). */
const CODE_CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** Bounds what the server stores and sends back. */
const MAX_PARAMETER_CHARACTERS = 2048

/**
 * Reads an authorization request.
 *
 * Nothing is sent to a redirect URI before the application and the URI are verified, so that the
 * endpoint is no open redirector (RFC 9700 section 4.11).
 */
export async function readAuthorizationRequest(
  app: AccountsApp,
  query: URLSearchParams,
): Promise<ReadRequest> {
  if (['client_id', 'redirect_uri'].some((name) => query.getAll(name).length > 1))
    return { kind: 'unusable', problem: 'client_id or redirect_uri is given twice' }
  const application = await findClient(app, query.get('client_id') ?? '')
  if (!application) return { kind: 'unusable', problem: 'the application is not registered here' }
  const redirectUri = query.get('redirect_uri') ?? ''
  const redirect = findRedirect(application, redirectUri)
  if (!redirect)
    return { kind: 'unusable', problem: 'the application has not registered this redirect URI' }
  const target = { application, redirect, state: query.get('state') ?? undefined }
  try {
    return {
      kind: 'request',
      request: { ...target, redirectUri, ...readParameters(target, query) },
    }
  } catch (error) {
    return { kind: 'refused', location: refusalLocation(app, target, asRefusal(error)) }
  }
}

/** Returns the redirect with a refusal (RFC 6749 section 4.1.2.1). */
export function refusalLocation(
  app: AccountsApp,
  target: ResponseTarget,
  { code, message }: Pick<OAuth2Refusal, 'code' | 'message'>,
): string {
  return responseLocation(app, target, { error: code, error_description: message })
}

/** Returns the redirect with a response, which names this server (RFC 9207). */
export function responseLocation(
  app: AccountsApp,
  { redirect, state }: ResponseTarget,
  parameters: Readonly<Record<string, string>>,
): string {
  const url = new URL(redirect)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value)
  if (state !== undefined) url.searchParams.append('state', state)
  url.searchParams.append('iss', app.publicUrl())
  return url.href
}

type Parameters = Omit<AuthorizationRequest, keyof ResponseTarget | 'redirectUri'>

/** @throws OAuth2Refusal, DomainError INVALID_SCOPE */
function readParameters({ application }: ResponseTarget, query: URLSearchParams): Parameters {
  checkForm(query)
  const prompts = (query.get('prompt') ?? '').split(' ').filter((prompt) => prompt !== '')
  if (prompts.includes('none') && prompts.length > 1)
    throw new OAuth2Refusal('invalid_request', 'prompt=none excludes other prompts')
  return {
    scopes: readRequestedScopes(query.get('scope') ?? ''),
    codeChallenge: readChallenge(application, query),
    nonce: query.get('nonce'),
    prompts,
    maxAgeS: readMaxAge(query.get('max_age')),
  }
}

/** @throws OAuth2Refusal */
function checkForm(query: URLSearchParams): void {
  const names = [...query.keys()]
  const repeated = names.find((name) => query.getAll(name).length > 1)
  if (repeated !== undefined)
    throw new OAuth2Refusal('invalid_request', 'a parameter is given twice')
  if ([...query.values()].some((value) => value.length > MAX_PARAMETER_CHARACTERS))
    throw new OAuth2Refusal('invalid_request', 'a parameter is too long')
  if ([...query.values()].some(hasInvisibleCharacters))
    throw new OAuth2Refusal('invalid_request', 'a parameter has control characters')
  if (query.has('request'))
    throw new OAuth2Refusal('request_not_supported', 'request objects are not supported')
  if (query.has('request_uri'))
    throw new OAuth2Refusal('request_uri_not_supported', 'request objects are not supported')
  if (query.get('response_type') !== 'code')
    throw new OAuth2Refusal('unsupported_response_type', 'response_type must be code')
  if ((query.get('response_mode') ?? 'query') !== 'query')
    throw new OAuth2Refusal('invalid_request', 'response_mode must be query')
}

/** @throws OAuth2Refusal */
function readChallenge({ confidential }: OAuth2Application, query: URLSearchParams): string | null {
  const challenge = query.get('code_challenge')
  const method = query.get('code_challenge_method')
  if (challenge === null) {
    if (method !== null) throw new OAuth2Refusal('invalid_request', 'code_challenge is missing')
    if (confidential === 0)
      throw new OAuth2Refusal('invalid_request', 'a public client must use PKCE')
    return null
  }
  // A request without a method means `plain`, which protects nobody who can read the request.
  if (method !== 'S256')
    throw new OAuth2Refusal('invalid_request', 'code_challenge_method must be S256')
  if (!CODE_CHALLENGE.test(challenge))
    throw new OAuth2Refusal('invalid_request', 'code_challenge is malformed')
  return challenge
}

/** @throws OAuth2Refusal */
function readMaxAge(text: string | null): number | undefined {
  if (text === null) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new OAuth2Refusal('invalid_request', 'max_age is malformed')
  return Number(text)
}

function asRefusal(error: unknown): { code: RefusalCode; message: string } {
  if (error instanceof OAuth2Refusal) return error
  if (error instanceof DomainError && error.reason === 'INVALID_SCOPE')
    return { code: 'invalid_scope', message: 'a scope is unknown' }
  throw error
}
