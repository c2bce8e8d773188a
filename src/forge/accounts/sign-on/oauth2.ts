import { LRUCache } from 'lru-cache'
import { FairSlots } from '../../../platform/concurrency/fair-slots.ts'
import { OutboundError } from '../../../platform/outbound/errors.ts'
import type {
  Outbound,
  OutboundRequest,
  OutboundResponse,
} from '../../../platform/outbound/outbound.ts'
import type { AuthorizationGrant, Claims, OAuth2Client, OAuth2Provider } from '../ports.ts'

/** Time limit of each call. A person waits for up to three calls. */
const CALL_TIMEOUT_MS = 10_000

/**
 * Maximum size of a response: more than any provider sends about a person, and small enough to
 * parse at once.
 */
const MAX_ANSWER_BYTES = 1024 * 1024

/**
 * Maximum number of concurrent exchanges with one provider. An exchange can be started without
 * signing in, and holds a connection for as long as the provider takes.
 */
const MAX_EXCHANGES_PER_PROVIDER = 20

/**
 * Maximum number of token URLs in the LRU cache: more than an instance has providers. An evicted
 * URL costs one more call.
 */
const MAX_TOKEN_URLS = 1000

/** A failed exchange. */
export class OAuth2Error extends Error {
  /**
   * Whether the provider refused the grant. Otherwise, the provider could not be reached or sent an
   * invalid response.
   */
  readonly isRefusal: boolean
  /**
   * The provider's error code for a refusal, empty if it sent none. For other failures, what went
   * wrong. Never contains a secret.
   */
  readonly detail: string

  constructor(isRefusal: boolean, detail: string) {
    super(detail)
    this.name = 'OAuth2Error'
    this.isRefusal = isRefusal
    this.detail = detail
  }
}

/** How the client authenticates (RFC 6749 section 2.3.1). */
type ClientAuthentication = 'basic' | 'form' | 'none'

type TokenAnswer =
  | { readonly accessToken: string; readonly doubtsClient: false }
  /** `error` is empty if the provider sent no error code. */
  | { readonly accessToken?: undefined; readonly error: string; readonly doubtsClient: boolean }

/**
 * Errors that may be about the client instead of the grant. The client may have to authenticate in
 * the other way.
 */
const CLIENT_ERRORS: readonly string[] = [
  '',
  'invalid_client',
  'invalid_request',
  'unauthorized_client',
]

/** RFC 6749 section 5.2, with a maximum length. */
const ERROR_CODE = /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,64}$/

/** RFC 6749 appendix A.12. Other characters cannot be sent in a header. */
const ACCESS_TOKEN = /^[\x20-\x7e]+$/

/** Content types that some providers use instead of JSON. */
const FORM_TYPES = /^(application\/x-www-form-urlencoded|text\/plain)\b/i

/**
 * Creates a client of OAuth 2.0 providers.
 *
 * The package oauth4webapi is not used, because it refuses responses that the contract allows: user
 * info without the claim `sub` (GitHub names a person by the number `id`), token responses in form
 * encoding, and token responses without `token_type`. It also parses identifiers into numbers,
 * which loses digits beyond 2^53. Only the few lines that build the token request would be saved.
 *
 * @param options.timeoutMs time limit of each call.
 */
export function createOAuth2Client({
  outbound,
  userAgent,
  timeoutMs = CALL_TIMEOUT_MS,
}: {
  readonly outbound: Outbound
  readonly userAgent: string
  readonly timeoutMs?: number
}): OAuth2Client {
  /** Token URLs of providers that accept the client secret only in the form. */
  const prefersForm = new LRUCache<string, true>({ max: MAX_TOKEN_URLS })
  /** The slots of exchanges, by token URL. */
  const slots = new LRUCache<string, FairSlots>({
    max: MAX_TOKEN_URLS,
    memoMethod: () =>
      new FairSlots({
        max: MAX_EXCHANGES_PER_PROVIDER,
        full: () => new OAuth2Error(false, 'too many exchanges at once'),
      }),
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
      // An answer that does not doubt the client proves that the provider accepts this
      // authentication, whatever it says about the code.
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
      slots
        .memo(provider.tokenUrl)
        .run(grant.holder, async () =>
          readUserInfo(provider.userInfoUrl, await redeem(provider, grant, signal), signal),
        ),
  }
}

/**
 * Returns the methods to try, in order. Every provider must support Basic (RFC 6749 section 2.3.1),
 * which comes first unless the form worked before.
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

/** Encodes an id or a secret for the Basic header (RFC 6749 section 2.3.1). */
function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice('='.length)
}

/**
 * Reads a token response. Members are read before the status because some providers send errors
 * with status 200.
 */
function readTokenAnswer(response: OutboundResponse): TokenAnswer {
  const { status } = response
  const members = readTokenMembers(response)
  const accessToken = members?.get('access_token')
  if (isSuccess(response) && typeof accessToken === 'string' && ACCESS_TOKEN.test(accessToken)) {
    return { accessToken, doubtsClient: false }
  }
  const given = members?.get('error')
  // Too many requests are a failure of the provider, not a refusal of the code.
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
 * Returns the body as text; empty if it is too long or not UTF-8. Replacing invalid bytes could
 * make two identifiers equal.
 */
function textOf({ body, isTruncated }: OutboundResponse): string {
  if (isTruncated) return ''
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return ''
  }
}

/** The JSON tokens that can contain digits. In valid JSON, nothing else matches. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/**
 * Returns the members of a JSON object; undefined for any other text. Numbers become the text that
 * was sent, because identifiers may have more digits than a number can hold.
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
