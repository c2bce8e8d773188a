/** Error codes of RFC 6749, RFC 6750 and OpenID Connect Core. */
export type RefusalCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'
  | 'login_required'
  | 'consent_required'
  | 'request_not_supported'
  | 'request_uri_not_supported'

/** A request of OAuth 2.0 that the server refuses. The description never contains a secret. */
export class OAuth2Refusal extends Error {
  readonly code: RefusalCode

  constructor(code: RefusalCode, description: string) {
    super(description)
    this.code = code
  }
}
