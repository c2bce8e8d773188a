import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/**
 * This instance, as every provider of the tests knows it. Both need encoding on their way into a
 * header.
 */
export const CLIENT_ID = 'branchline: tests'
export const CLIENT_SECRET = 'open sesame & 100%'

export const REDIRECT_URI = 'https://app.example.org/callback'

/** What was asked of the token endpoint. */
export interface TokenRequest {
  readonly headers: IncomingMessage['headers']
  readonly form: URLSearchParams
}

type Answer = (response: ServerResponse) => void

/** An OAuth 2.0 provider that does what RFC 6749 says, until a test tells it otherwise. */
export interface OAuthProvider {
  readonly tokenUrl: string
  readonly userInfoUrl: string
  readonly tokenRequests: readonly TokenRequest[]
  readonly userInfoRequests: readonly IncomingMessage['headers'][]
  /** How clients may authenticate; 'basic' unless set. */
  takes: 'basic' | 'form' | 'none'
  /** Answers the token endpoint instead. */
  answerToken: Answer | undefined
  /** Answers the user info endpoint instead. */
  answerUserInfo: Answer | undefined
  /**
   * Signs somebody in, as their browser would have them do.
   *
   * @param userInfo what the provider will say about them, in JSON if it is a text.
   * @param codeVerifier of PKCE, for a flow that was started with its challenge.
   * @returns a code that is good once.
   */
  signIn(userInfo: object | string, codeVerifier?: string): string
  stop(): Promise<void>
}

/** Starts a provider on a free port of this machine. */
export async function startOAuthProvider(): Promise<OAuthProvider> {
  const codes = new Map<
    string,
    { readonly userInfo: string; readonly codeChallenge: string | undefined }
  >()
  const tokens = new Map<string, string>()
  const tokenRequests: TokenRequest[] = []
  const userInfoRequests: IncomingMessage['headers'][] = []
  let counter = 0

  function answerTokenRequest({ headers, form }: TokenRequest): [status: number, body: object] {
    if (!isKnownClient(provider.takes, headers.authorization, form))
      return [401, { error: 'invalid_client' }]
    const code = form.get('code') ?? ''
    const grant = codes.get(code)
    codes.delete(code)
    const isGood =
      grant !== undefined &&
      form.get('grant_type') === 'authorization_code' &&
      form.get('redirect_uri') === REDIRECT_URI &&
      (grant.codeChallenge === undefined ||
        grant.codeChallenge === challengeOf(form.get('code_verifier') ?? ''))
    if (!isGood)
      return [400, { error: 'invalid_grant', error_description: `no such code: ${code}` }]
    const access_token = `token-${++counter}`
    tokens.set(access_token, grant.userInfo)
    return [200, { access_token, token_type: 'bearer' }]
  }

  async function serveToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = { headers: request.headers, form: new URLSearchParams(await text(request)) }
    tokenRequests.push(received)
    if (provider.answerToken) provider.answerToken(response)
    else answerJson(response, ...answerTokenRequest(received))
  }

  function serveUserInfo({ headers }: IncomingMessage, response: ServerResponse): void {
    userInfoRequests.push(headers)
    const userInfo = tokens.get(headers.authorization?.replace(/^Bearer /, '') ?? '')
    if (provider.answerUserInfo) provider.answerUserInfo(response)
    else if (userInfo === undefined) answerJson(response, 401, { error: 'invalid_token' })
    else answerJson(response, 200, userInfo)
  }

  const server = createServer((request, response) => {
    const { method, url } = request
    if (method === 'POST' && url === '/token') void serveToken(request, response)
    else if (method === 'GET' && url === '/userinfo') serveUserInfo(request, response)
    else answerJson(response, 404, {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`

  const provider: OAuthProvider = {
    tokenUrl: `${url}/token`,
    userInfoUrl: `${url}/userinfo`,
    tokenRequests,
    userInfoRequests,
    takes: 'basic',
    answerToken: undefined,
    answerUserInfo: undefined,
    signIn(userInfo, codeVerifier) {
      const code = `code-${++counter}`
      codes.set(code, {
        userInfo: typeof userInfo === 'string' ? userInfo : JSON.stringify(userInfo),
        codeChallenge: codeVerifier === undefined ? undefined : challengeOf(codeVerifier),
      })
      return code
    },
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return provider
}

/** Answers with a status and JSON. */
export function answerJson(response: ServerResponse, status: number, body: object | string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

function isKnownClient(
  takes: OAuthProvider['takes'],
  authorization: string | undefined,
  form: URLSearchParams,
) {
  const encoded = /^Basic (.+)$/.exec(authorization ?? '')?.[1] ?? ''
  const basic = Buffer.from(encoded, 'base64').toString().split(':').map(formDecode)
  const inForm = [form.get('client_id'), form.get('client_secret')]
  switch (takes) {
    case 'basic':
      return basic[0] === CLIENT_ID && basic[1] === CLIENT_SECRET
    case 'form':
      return authorization === undefined && inForm[0] === CLIENT_ID && inForm[1] === CLIENT_SECRET
    case 'none':
      return authorization === undefined && inForm[0] === CLIENT_ID && inForm[1] === null
  }
}

function formDecode(encoded: string): string {
  return decodeURIComponent(encoded.replaceAll('+', ' '))
}

/** The challenge of S256 (RFC 7636 section 4.2). */
function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}
