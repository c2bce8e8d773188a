import type { App } from '../../forge/app.ts'
import { SUPPORTED_SCOPES } from '../../forge/oauth2/granted-scopes.ts'
import { type Handler, jsonReply } from './exchange.ts'

/** The paths of the endpoints, which compatible systems have too. */
export const ENDPOINTS = {
  authorize: '/login/oauth/authorize',
  token: '/login/oauth/access_token',
  userInfo: '/login/oauth/userinfo',
  keys: '/login/oauth/keys',
  introspect: '/login/oauth/introspect',
  revoke: '/login/oauth/revoke',
  /** The start of the path to which an identity provider sends browsers back. Its id follows. */
  callback: '/login/oauth/callback/',
} as const

/** Documents that change only with the server or its public URL. */
const CACHED = { 'cache-control': 'public, max-age=300', pragma: 'cache' }

/** Returns the metadata (RFC 8414; OpenID Connect Discovery 1.0). */
export function metadataHandler(app: App): Handler {
  return async () => {
    const issuer = app.publicUrl()
    const authentication = ['client_secret_basic', 'client_secret_post']
    return jsonReply(
      200,
      {
        issuer,
        authorization_endpoint: issuer + ENDPOINTS.authorize,
        token_endpoint: issuer + ENDPOINTS.token,
        userinfo_endpoint: issuer + ENDPOINTS.userInfo,
        jwks_uri: issuer + ENDPOINTS.keys,
        introspection_endpoint: issuer + ENDPOINTS.introspect,
        revocation_endpoint: issuer + ENDPOINTS.revoke,
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        scopes_supported: SUPPORTED_SCOPES,
        claims_supported: [
          'aud',
          'auth_time',
          'email',
          'email_verified',
          'exp',
          'groups',
          'iat',
          'iss',
          'name',
          'nonce',
          'picture',
          'preferred_username',
          'sub',
          'updated_at',
        ],
        prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: [...authentication, 'none'],
        revocation_endpoint_auth_methods_supported: [...authentication, 'none'],
        introspection_endpoint_auth_methods_supported: authentication,
        authorization_response_iss_parameter_supported: true,
        claims_parameter_supported: false,
        request_parameter_supported: false,
        request_uri_parameter_supported: false,
      },
      CACHED,
    )
  }
}

/** Returns the keys that verify ID tokens (RFC 7517). */
export function keysHandler(app: App): Handler {
  return async () => jsonReply(200, { keys: [(await app.keys.idTokenKey()).publicJwk] }, CACHED)
}

/** Prompts that a new sign-in satisfies. */
export const SIGN_IN_PROMPTS: readonly string[] = ['login', 'select_account']

/** Returns the address of the authorization endpoint with the query of a request. */
export function authorizeAddress(query: string): string {
  return `${ENDPOINTS.authorize}?${query}`
}

/** Returns the address of a request whose demand for a new sign-in is satisfied. */
export function addressAfterSignIn(query: string): string {
  const parameters = new URLSearchParams(query)
  const prompts = (parameters.get('prompt') ?? '')
    .split(' ')
    .filter((prompt) => prompt !== '' && !SIGN_IN_PROMPTS.includes(prompt))
  parameters.delete('max_age')
  parameters.delete('prompt')
  if (prompts.length > 0) parameters.set('prompt', prompts.join(' '))
  return authorizeAddress(parameters.toString())
}

/**
 * Returns the redirect URI of this server at an identity provider. Each provider has its own, so
 * that none can pass off its codes as those of another one (RFC 9700 section 4.4.2.2).
 */
export function callbackUri(app: App, providerUid: string): string {
  return app.publicUrl() + ENDPOINTS.callback + providerUid
}
