import type { IdentityProvider } from '../../../storage/schema/accounts.ts'
import { DomainError } from '../../core/errors.ts'
import type { AccountsApp, AuthorizationGrant, Claims } from '../ports.ts'
import { checkLength, checkVisible } from '../users/user-fields.ts'
import { admitsIdentifier } from './identifier-filter.ts'
import { clientSecretOf, getIdentityProvider, identityProviderName } from './identity-providers.ts'
import { OAuth2Error } from './oauth2.ts'

export type { AuthorizationGrant }

/** Who somebody is at a provider. */
export interface ExternalIdentity {
  readonly provider: IdentityProvider
  readonly externUid: string
  /** What the provider says beside; each empty when it does not. */
  readonly displayName: string
  readonly email: string
  readonly avatarUrl: string
}

/**
 * Subjects of OpenID Connect Core 1.0 section 2 have up to 255 characters, and so has almost any
 * e-mail address.
 */
const IDENTIFIER = /^[^\p{Cc}\p{Cs}]{1,255}$/u

/**
 * What is handed on to the provider is never longer than this. PKCE sets the last one (RFC 7636
 * section 4.1).
 */
const MAX_CODE_CHARACTERS = 8192
const MAX_REDIRECT_URI_CHARACTERS = 2048
const MAX_CODE_VERIFIER_CHARACTERS = 128

/**
 * Asks a provider whom a code stands for. This calls other servers: no transaction may be open.
 *
 * @param signal gives up asking.
 * @throws IDENTITY_PROVIDER_NOT_FOUND, INVALID_FIELD, CODE_REFUSED, IDENTITY_PROVIDER_UNAVAILABLE,
 *   IDENTITY_REFUSED
 */
export async function identify(
  app: AccountsApp,
  providerUid: string,
  grant: AuthorizationGrant,
  signal: AbortSignal,
): Promise<ExternalIdentity> {
  const provider = await getIdentityProvider(app, providerUid)
  checkGrant(grant)
  const name = identityProviderName(provider.uid)
  const claims = await fetchClaims(app, provider, grant, signal)
  const externUid = claims.get(provider.identifier_claim)
  if (typeof externUid !== 'string' || !IDENTIFIER.test(externUid)) {
    app.log.warn(
      { provider: name, claim: provider.identifier_claim },
      'an identity provider names nobody',
    )
    throw new DomainError('IDENTITY_PROVIDER_UNAVAILABLE', { name })
  }
  if (!admitsIdentifier(provider.identifier_filter, externUid))
    throw new DomainError('IDENTITY_REFUSED', { name })
  return {
    provider,
    externUid,
    displayName: textClaim(claims, provider.display_name_claim),
    // The standard claim, a text with some providers: an address that is not the person's own would
    // block its owner.
    email:
      String(claims.get('email_verified')) === 'false'
        ? ''
        : textClaim(claims, provider.email_claim),
    avatarUrl: textClaim(claims, provider.avatar_url_claim),
  }
}

function checkGrant({ code, redirectUri, codeVerifier }: AuthorizationGrant): void {
  if (code === '') throw new DomainError('INVALID_FIELD', { field: 'code' })
  if (redirectUri === '') throw new DomainError('INVALID_FIELD', { field: 'redirect_uri' })
  checkLength('code', code, MAX_CODE_CHARACTERS)
  checkLength('redirect_uri', redirectUri, MAX_REDIRECT_URI_CHARACTERS)
  checkVisible('redirect_uri', redirectUri)
  checkLength('code_verifier', codeVerifier, MAX_CODE_VERIFIER_CHARACTERS)
}

async function fetchClaims(
  app: AccountsApp,
  provider: IdentityProvider,
  grant: AuthorizationGrant,
  signal: AbortSignal,
): Promise<Claims> {
  const name = identityProviderName(provider.uid)
  const endpoints = {
    clientId: provider.client_id,
    clientSecret: clientSecretOf(app, provider),
    tokenUrl: provider.token_url,
    userInfoUrl: provider.user_info_url,
  }
  return app.oauth2.fetchClaims(endpoints, grant, signal).catch((error: unknown) => {
    if (!(error instanceof OAuth2Error)) throw error
    const { isRefusal, detail } = error
    if (isRefusal)
      throw new DomainError('CODE_REFUSED', {
        name,
        ...(detail !== '' && { provider_error: detail }),
      })
    app.log.warn({ provider: name, detail }, 'an identity provider failed')
    throw new DomainError('IDENTITY_PROVIDER_UNAVAILABLE', { name })
  })
}

/** A claim that is a text, without what no text may hold; empty for any other. */
function textClaim(claims: Claims, name: string): string {
  const value = claims.get(name)
  return typeof value === 'string' ? value.replace(/[\p{Cc}\p{Cs}]/gu, ' ').trim() : ''
}
