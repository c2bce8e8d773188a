import { LRUCache } from 'lru-cache'
import { createLimited } from '../../../concurrency/limited.ts'
import { OutboundError } from '../../outbound/errors.ts'
import type { Outbound, OutboundRequest, OutboundResponse } from '../../outbound/outbound.ts'
import type { AuthorizationGrant, Claims, OAuth2Client, OAuth2Provider } from '../ports.ts'

/** Of each call. Somebody waits for the answer, and may wait for three calls. */
const CALL_TIMEOUT_MS = 10_000

/** More than any provider says about a person, and little enough to parse at once. */
const MAX_ANSWER_BYTES = 1024 * 1024

/**
 * Exchanges under way with one provider. Nobody has to be signed in to start one, and it holds a
 * connection for as long as the provider takes.
 */
const MAX_EXCHANGES_PER_PROVIDER = 20

/**
 * Token URLs remembered: more than an instance has providers. What is forgotten costs one more
 * call.
 */
const MAX_REMEMBERED = 1000

/** An exchange that did not come to its end. */
export class OAuth2Error extends Error {
  /**
   * Whether the provider refuses the grant; else it could not be asked, or its answer makes no
   * sense.
   */
  readonly isRefusal: boolean
  /**
   * The provider's error code for a refusal, empty when it gave none; else what went wrong. Never a
   * secret.
   */
  readonly detail: string

  constructor(isRefusal: boolean, detail: string) {
    super(detail)
    this.name = 'OAuth2Error'
    this.isRefusal = isRefusal
    this.detail = detail
  }
}

/** How the client says who it is (RFC 6749 section 2.3.1). */
type ClientAuthentication = 'basic' | 'form' | 'none'

type TokenAnswer =
  | { readonly accessToken: string; readonly doubtsClient: false }
  /** `error` is empty when the provider gave no code for it. */
  | { readonly accessToken?: undefined; readonly error: string; readonly doubtsClient: boolean }

/**
 * Errors that the grant has no part in, or need not have: the client may have to authenticate in
 * the other way.
 */
const CLIENT_ERRORS: readonly string[] = [
  '',
  'invalid_client',
  'invalid_request',
  'unauthorized_client',
]

/** RFC 6749 section 5.2, with an end to it. */
const ERROR_CODE = /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,64}$/

/** RFC 6749 appendix A.12. Anything else would not fit into a header. */
const ACCESS_TOKEN = /^[\x20-\x7e]+$/

/** What some providers answer with instead of JSON. */
const FORM_TYPES = /^(application\/x-www-form-urlencoded|text\/plain)\b/i

/** @param options.timeoutMs of each call. */
export function createOAuth2Client({
  outbound,
  userAgent,
  timeoutMs = CALL_TIMEOUT_MS,
}: {
  readonly outbound: Outbound
  readonly userAgent: string
  readonly timeoutMs?: number
}): OAuth2Client {
  /** Token URLs of providers that accept the client secret in the form only. */
  const prefersForm = new LRUCache<string, true>({ max: MAX_REMEMBERED })
  /** Limits the exchanges by token URL. */
  const limited = createLimited({
    maxRunningPerKey: MAX_EXCHANGES_PER_PROVIDER,
    maxWaitingPerKey: 0,
    full: () => new OAuth2Error(false, 'too many exchanges at once'),
  })

  async function send(request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> {
    const headers = { accept: 'application/json', 'user-agent': userAgent, ...request.headers }
    const options = { timeoutMs, maxResponseBytes: MAX_ANSWER_BYTES, isTrusted: true, signal }
    return outbound.send({ ...request, headers }, options).catch((error: unknown) => {
      throw error instanceof OutboundError ? new OAuth2Error(false, error.failure) : error
    })
  }

  async function redeem(
    provider: OAuth2Provider,
    grant: AuthorizationGrant,
    signal: AbortSignal,
  ): Promise<string> {
    const { tokenUrl } = provider
    let refusal = ''
    for (const way of waysToAuthenticate(provider, prefersForm.has(tokenUrl))) {
      const answer = readTokenAnswer(await send(tokenRequest(provider, grant, way), signal))
      // Unless the client is in doubt it is known in this way, whatever becomes of the code.
      if (!answer.doubtsClient) remember(tokenUrl, way)
      if (answer.accessToken !== undefined) return answer.accessToken
      refusal = answer.error
      if (!answer.doubtsClient) break
    }
    throw new OAuth2Error(true, refusal)
  }

  function remember(tokenUrl: string, way: ClientAuthentication): void {
    if (way === 'form') prefersForm.set(tokenUrl, true)
    else prefersForm.delete(tokenUrl)
  }

  async function readUserInfo(
    userInfoUrl: string,
    accessToken: string,
    signal: AbortSignal,
  ): Promise<Claims> {
    const headers = { authorization: `Bearer ${accessToken}` }
    const response = await send({ method: 'GET', url: new URL(userInfoUrl), headers }, signal)
    const claims = isSuccess(response) ? readJsonObject(textOf(response)) : undefined
    if (!claims)
      throw new OAuth2Error(false, `user info answer of status ${response.status} makes no sense`)
    return claims
  }

  return {
    fetchClaims: (provider, grant, signal) =>
      limited(provider.tokenUrl, async () =>
        readUserInfo(provider.userInfoUrl, await redeem(provider, grant, signal), signal),
      ),
  }
}

/**
 * Basic first, which every provider has to support (RFC 6749 section 2.3.1), unless the other way
 * worked before.
 */
function waysToAuthenticate(
  { clientSecret }: OAuth2Provider,
  prefersForm: boolean,
): readonly ClientAuthentication[] {
  if (clientSecret === '') return ['none']
  return prefersForm ? ['form', 'basic'] : ['basic', 'form']
}

function tokenRequest(
  { clientId, clientSecret, tokenUrl }: OAuth2Provider,
  { code, redirectUri, codeVerifier }: AuthorizationGrant,
  way: ClientAuthentication,
): OutboundRequest {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
  })
  if (codeVerifier !== '') form.set('code_verifier', codeVerifier)
  if (way !== 'basic') form.set('client_id', clientId)
  if (way === 'form') form.set('client_secret', clientSecret)
  const basic = Buffer.from(`${formEncode(clientId)}:${formEncode(clientSecret)}`).toString(
    'base64',
  )
  return {
    method: 'POST',
    url: new URL(tokenUrl),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(way === 'basic' && { authorization: `Basic ${basic}` }),
    },
    body: form.toString(),
  }
}

/**
 * Id and secret are encoded as in a form before they go into the header (RFC 6749 section 2.3.1).
 */
function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice('='.length)
}

/** Some providers refuse with status 200, so members decide before the status does. */
function readTokenAnswer(response: OutboundResponse): TokenAnswer {
  const { status } = response
  const members = readTokenMembers(response)
  const accessToken = members?.get('access_token')
  if (isSuccess(response) && typeof accessToken === 'string' && ACCESS_TOKEN.test(accessToken)) {
    return { accessToken, doubtsClient: false }
  }
  const given = members?.get('error')
  // Too many requests are a refusal to work, not a refusal of the code.
  const isRefusal = isSuccess(response)
    ? given !== undefined
    : status >= 400 && status < 500 && status !== 429
  if (!isRefusal) throw new OAuth2Error(false, `token answer of status ${status} makes no sense`)
  const error = typeof given === 'string' && ERROR_CODE.test(given) ? given : ''
  return { error, doubtsClient: status === 401 || CLIENT_ERRORS.includes(error) }
}

function readTokenMembers(response: OutboundResponse): ReadonlyMap<string, unknown> | undefined {
  const text = textOf(response)
  const isForm = FORM_TYPES.test(response.headers.get('content-type') ?? '')
  return readJsonObject(text) ?? (isForm ? new Map(new URLSearchParams(text)) : undefined)
}

function isSuccess({ status }: OutboundResponse): boolean {
  return status >= 200 && status < 300
}

/**
 * The body as text; empty when it is too long, or not UTF-8: repaired, two identifiers could become
 * one.
 */
function textOf({ body, isTruncated }: OutboundResponse): string {
  if (isTruncated) return ''
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return ''
  }
}

/**
 * The tokens of JSON that digits can occur in. In a text that is JSON, nothing else looks like one
 * of them.
 */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/**
 * The members of a JSON object, numbers as the text that was sent: identifiers may have more digits
 * than a number keeps.
 *
 * @returns undefined for any other text.
 */
function readJsonObject(text: string): ReadonlyMap<string, unknown> | undefined {
  try {
    JSON.parse(text)
    const value: unknown = JSON.parse(
      text.replace(STRING_OR_NUMBER, (token) => (token[0] === '"' ? token : `"${token}"`)),
    )
    return isObject(value) ? new Map(Object.entries(value)) : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
