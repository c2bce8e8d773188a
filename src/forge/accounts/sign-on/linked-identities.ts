import { accountHolder } from '../../../platform/concurrency/holders.ts'
import { transaction } from '../../../platform/database/database.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { NO_PASSWORD } from '../credentials/passwords.ts'
import type { AccountsApp, AuthorizationGrant, Claims, CountedGrant } from '../ports.ts'
import type { IdentityProvider } from '../schema.ts'
import { checkLength, checkVisible } from '../users/user-fields.ts'
import { requirePresent, userResourceName } from '../users/users.ts'
import * as rows from './identity-providers.rows.ts'
import {
  admitsIdentifier,
  clientSecretOf,
  getIdentityProvider,
  identityProviderName,
  requirePresentProvider,
} from './identity-providers.ts'
import { OAuth2Error } from './oauth2.ts'

export type LinkedIdentity = rows.LinkedIdentity

/** Lists the identities of an account in the order in which they were linked. */
export function listLinkedIdentities(app: AccountsApp, owner: User): Promise<LinkedIdentity[]> {
  return rows.listLinkedIdentities(app.db, owner.id)
}

/** Returns the identity of an account at a provider. */
export async function getLinkedIdentity(
  app: Pick<AccountsApp, 'db'>,
  owner: User,
  providerUid: string,
): Promise<LinkedIdentity> {
  const found = await rows.findLinkedIdentity(app.db, owner.id, providerUid)
  if (!found)
    throw new DomainError('LINKED_IDENTITY_NOT_FOUND', {
      name: linkedIdentityName(owner, providerUid),
    })
  return found
}

/**
 * Links the identity behind a code to an account. Linking the same identity again returns the
 * existing link.
 *
 * @param signal aborts the calls to the provider.
 */
export async function linkIdentity(
  app: AccountsApp,
  owner: User,
  providerUid: string,
  grant: AuthorizationGrant,
  signal: AbortSignal,
): Promise<LinkedIdentity> {
  const { provider, externUid } = await identify(
    app,
    providerUid,
    { ...grant, holder: accountHolder(owner.id) },
    signal,
  )
  const linked = await transaction(app.db, async (tx) => {
    await requirePresent(tx, owner)
    await requirePresentProvider(tx, provider)
    const holder = await rows.findUserByIdentity(tx, provider.id, externUid)
    if (holder && holder.id !== owner.id) throw new DomainError('IDENTITY_TAKEN')
    const present = await rows.findLinkedIdentity(tx, owner.id, provider.uid)
    if (present && present.extern_uid !== externUid) {
      throw new DomainError('IDENTITY_ALREADY_LINKED', {
        name: linkedIdentityName(owner, provider.uid),
      })
    }
    if (!present) {
      await rows.insertLinkedIdentity(tx, {
        user_id: owner.id,
        provider_id: provider.id,
        extern_uid: externUid,
        adopt_time: app.clock.now(),
      })
    }
    return getLinkedIdentity({ db: tx }, owner, provider.uid)
  })
  app.signals.adoptions.notify()
  return linked
}

/** Unlinks an identity. */
export async function unlinkIdentity(
  app: AccountsApp,
  owner: User,
  providerUid: string,
): Promise<void> {
  await transaction(app.db, async (tx) => {
    const present = await requirePresent(tx, owner)
    const { id } = await getLinkedIdentity({ db: tx }, owner, providerUid)
    const linked = await rows.listLinkedIdentities(tx, owner.id)
    if (linked.length === 1 && !signsInByPassword(app, present)) {
      throw new DomainError('LAST_SIGN_IN_METHOD', { name: linkedIdentityName(owner, providerUid) })
    }
    await rows.deleteLinkedIdentity(tx, id)
  })
}

function signsInByPassword(app: AccountsApp, user: User): boolean {
  return (
    user.password_hash !== NO_PASSWORD && (app.settings.passwordSignIn || user.role === 'ADMIN')
  )
}

function linkedIdentityName(user: User, providerUid: string): string {
  return `${userResourceName(user)}/linkedIdentities/${providerUid}`
}

/** A person's identity at a provider. */
export interface ExternalIdentity {
  readonly provider: IdentityProvider
  readonly externUid: string
  /** Further claims of the provider; empty if not given. */
  readonly displayName: string
  readonly email: string
  readonly avatarUrl: string
}

/**
 * OpenID Connect Core 1.0 section 2 limits subjects to 255 characters. Almost all e-mail addresses
 * are shorter, too.
 */
const IDENTIFIER = /^[^\p{Cc}\p{Cs}]{1,255}$/u

/**
 * Maximum lengths of the values sent to the provider. PKCE defines the last one (RFC 7636 section
 * 4.1).
 */
const MAX_CODE_CHARACTERS = 8192
const MAX_REDIRECT_URI_CHARACTERS = 2048
const MAX_CODE_VERIFIER_CHARACTERS = 128

/**
 * Redeems a code at a provider and returns the identity of the person who signed in. Calls other
 * servers, so no transaction may be open.
 *
 * @param signal aborts the calls.
 * @throws IDENTITY_PROVIDER_NOT_FOUND, INVALID_FIELD, CODE_REFUSED, IDENTITY_PROVIDER_UNAVAILABLE,
 *   IDENTITY_REFUSED
 */
export async function identify(
  app: AccountsApp,
  providerUid: string,
  grant: CountedGrant,
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
      'an identity provider returned no identifier',
    )
    throw new DomainError('IDENTITY_PROVIDER_UNAVAILABLE', { name })
  }
  if (!admitsIdentifier(provider.identifier_filter, externUid))
    throw new DomainError('IDENTITY_REFUSED', { name })
  return {
    provider,
    externUid,
    displayName: textClaim(claims, provider.display_name_claim),
    // A standard claim, which some providers send as text. An unverified address may belong to
    // someone else, who could then not use it.
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
  grant: CountedGrant,
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

/** Returns a text claim without control characters; empty for other types. */
function textClaim(claims: Claims, name: string): string {
  const value = claims.get(name)
  return typeof value === 'string' ? value.replace(/[\p{Cc}\p{Cs}]/gu, ' ').trim() : ''
}
