import type { App } from '../../forge/app.ts'
import type { OAuth2Application } from '../../forge/oauth2/applications.ts'
import { authenticateClient, type ClientCredentials } from '../../forge/oauth2/clients.ts'
import { OAuth2Refusal } from '../../forge/oauth2/refusals.ts'
import {
  introspect,
  redeemCode,
  refreshTokens,
  revokeToken,
  type TokenResponse,
} from '../../forge/oauth2/tokens.ts'
import { readUserInfo } from '../../forge/oauth2/user-claims.ts'
import type { HttpRequest } from '../../platform/http/requests.ts'
import { type EndpointReply, type Handler, jsonReply, readForm } from './exchange.ts'

const BASIC = /^basic +([A-Za-z0-9+/=]+)$/i
const BEARER = /^(?:bearer|token) +([A-Za-z0-9._~+/-]+=*)$/i

/** Returns the handlers of the endpoints that programs call. */
export function tokenEndpoints(app: App): Readonly<Record<TokenEndpoint, Handler>> {
  return {
    token: forClients(app, async (client, form) => jsonReply(200, await grant(app, client, form))),
    introspect: forClients(app, async (client, form) =>
      jsonReply(200, await introspect(app, client, form.get('token') ?? '')),
    ),
    revoke: forClients(app, async (client, form) => {
      await revokeToken(app, client, form.get('token') ?? '')
      return jsonReply(200, {})
    }),
    userInfo: (request) => userInfo(app, request),
  }
}

type TokenEndpoint = 'token' | 'introspect' | 'revoke' | 'userInfo'

/** Returns a handler that authenticates the client and reads its form. */
function forClients(
  app: App,
  answer: (client: OAuth2Application, form: URLSearchParams) => Promise<EndpointReply>,
): Handler {
  return async (request) => {
    try {
      const form = await readForm(request)
      if (!form) throw new OAuth2Refusal('invalid_request', 'the content must be a form')
      if ([...form.keys()].some((name) => form.getAll(name).length > 1))
        throw new OAuth2Refusal('invalid_request', 'a parameter is given twice')
      const client = await authenticateClient(app, credentialsOf(request, form))
      return await answer(client, form)
    } catch (error) {
      if (error instanceof OAuth2Refusal) return refusalReply(error)
      throw error
    }
  }
}

/** @throws OAuth2Refusal */
function grant(app: App, client: OAuth2Application, form: URLSearchParams): Promise<TokenResponse> {
  switch (form.get('grant_type')) {
    case 'authorization_code':
      return redeemCode(app, client, {
        code: form.get('code') ?? '',
        redirectUri: form.get('redirect_uri') ?? '',
        codeVerifier: form.get('code_verifier') ?? '',
      })
    case 'refresh_token':
      return refreshTokens(app, client, form.get('refresh_token') ?? '', form.get('scope') ?? '')
    case null:
      throw new OAuth2Refusal('invalid_request', 'grant_type is missing')
    default:
      throw new OAuth2Refusal(
        'unsupported_grant_type',
        'grant_type must be authorization_code or refresh_token',
      )
  }
}

/**
 * Returns what a client sends to identify itself: by Basic or in the form (RFC 6749 section 2.3.1).
 *
 * @throws OAuth2Refusal invalid_request for both at once.
 */
function credentialsOf({ headers }: HttpRequest, form: URLSearchParams): ClientCredentials {
  const clientId = form.get('client_id') ?? ''
  const secret = form.get('client_secret') ?? ''
  const { authorization } = headers
  if (authorization === undefined) return { clientId, secret }
  const basic = decodeBasic(authorization)
  if (!basic) throw new OAuth2Refusal('invalid_client', 'the client must authenticate by Basic')
  if ((secret !== '' && basic.secret !== '') || (clientId !== '' && clientId !== basic.clientId))
    throw new OAuth2Refusal('invalid_request', 'the client authenticates in two ways')
  return basic.secret === '' ? { clientId: basic.clientId, secret } : basic
}

/** Id and secret are encoded as in a form. */
function decodeBasic(authorization: string): ClientCredentials | undefined {
  const [, encoded] = BASIC.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 0) return undefined
  const [clientId, secret] = [text.slice(0, colon), text.slice(colon + 1)].map(decodeFormText)
  return clientId === undefined || secret === undefined ? undefined : { clientId, secret }
}

function decodeFormText(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

async function userInfo(app: App, request: HttpRequest): Promise<EndpointReply> {
  try {
    const form = request.method === 'POST' ? await readForm(request) : undefined
    const [, sent] = BEARER.exec(request.headers.authorization ?? '') ?? []
    const accessToken = sent ?? form?.get('access_token') ?? ''
    return jsonReply(200, await readUserInfo(app, accessToken))
  } catch (error) {
    if (!(error instanceof OAuth2Refusal)) throw error
    const { code, message } = error
    // RFC 6750 section 3.
    const challenge = `Bearer error="${code}", error_description="${message}"`
    return jsonReply(
      code === 'insufficient_scope' ? 403 : 401,
      { error: code, error_description: message },
      { 'www-authenticate': challenge },
    )
  }
}

/** RFC 6749 section 5.2. */
function refusalReply({ code, message }: OAuth2Refusal): EndpointReply {
  const isClient = code === 'invalid_client'
  return jsonReply(
    isClient ? 401 : 400,
    { error: code, error_description: message },
    isClient ? { 'www-authenticate': 'Basic realm="Branchline"' } : {},
  )
}
