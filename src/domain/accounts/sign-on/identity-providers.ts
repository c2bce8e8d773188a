import { randomBytes } from 'node:crypto'
import * as rows from '../../../storage/accounts/identity-providers.ts'
import { isUniqueViolation, transaction } from '../../../storage/database/database.ts'
import type { IdentityProvider } from '../../../storage/schema/accounts.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { DomainError } from '../../core/errors.ts'
import { hasInvisibleCharacters } from '../../core/invisible-characters.ts'
import { open, seal } from '../credentials/sealed-secrets.ts'
import type { AccountsApp } from '../ports.ts'
import { checkIdentifierFilter } from './identifier-filter.ts'

/** A provider as stored. */
export type { IdentityProvider }

/** What an update may change. */
export type IdentityProviderField = 'title' | 'identifier_filter' | 'config'

/** How to reach a provider and what its answers mean. */
export interface OAuth2Config {
  readonly clientId: string
  /** Empty for none, and in an update for the one that is stored. */
  readonly clientSecret: string
  readonly authUrl: string
  readonly tokenUrl: string
  readonly userInfoUrl: string
  readonly scopes: readonly string[]
  /** Names of claims; all but the first may be empty. */
  readonly identifierClaim: string
  readonly displayNameClaim: string
  readonly emailClaim: string
  readonly avatarUrlClaim: string
}

/** Values for a provider; those that an update does not name are not looked at. */
export interface IdentityProviderValues {
  readonly title: string
  readonly identifierFilter: string
  /** Undefined when the request leaves it, or the type that it belongs to, out. */
  readonly config: OAuth2Config | undefined
}

/** What the client secret is sealed for. */
const SECRET_PURPOSE = 'identity-provider-client-secret'

const UID = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,34}[A-Za-z0-9])?$/

/** 48 random bits: ids of a few providers never meet. */
const RANDOM_UID_BYTES = 6

const MAX_TITLE_CHARACTERS = 128
const MAX_URL_CHARACTERS = 2048

/**
 * Absolute and without a fragment (RFC 6749 section 3); without credentials, which everybody would
 * be shown; and without what URL parsers pass over in silence.
 */
const ENDPOINT = /^https?:\/\/[^\s\p{Cc}/?#@\\]+([/?][^\s\p{Cc}#\\]*)?$/iu

const MAX_CLAIM_NAME_CHARACTERS = 128
const MAX_SCOPES = 100

/** RFC 6749 appendix A.1, with an end to it. */
const CLIENT_ID = /^[\x20-\x7e]{1,1024}$/

/** RFC 6749 appendix A.2. Some providers take a signed token for a secret. */
const CLIENT_SECRET = /^[\x20-\x7e]{0,4096}$/

/** RFC 6749 appendix A.4, with an end to it. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/** All providers in the order in which they were made. */
export function listIdentityProviders(app: AccountsApp): Promise<IdentityProvider[]> {
  return rows.listIdentityProviders(app.db)
}

/** @throws IDENTITY_PROVIDER_NOT_FOUND */
export async function getIdentityProvider(
  app: Pick<AccountsApp, 'db'>,
  uid: string,
): Promise<IdentityProvider> {
  return (await rows.findIdentityProvider(app.db, uid)) ?? refuseMissing(uid)
}

/**
 * Makes sure that a provider that was read before the transaction still exists.
 *
 * @throws IDENTITY_PROVIDER_NOT_FOUND
 */
export async function requirePresentProvider(tx: Tx, { id, uid }: IdentityProvider): Promise<void> {
  // Another one may have taken its uid.
  if ((await rows.findIdentityProvider(tx, uid))?.id !== id) refuseMissing(uid)
}

/**
 * Adds a provider.
 *
 * @param uid empty to have one made.
 * @throws INVALID_IDENTITY_PROVIDER_ID, INVALID_FIELD, INVALID_IDENTIFIER_FILTER,
 *   IDENTITY_PROVIDER_ID_TAKEN
 */
export async function createIdentityProvider(
  app: AccountsApp,
  uid: string,
  { title, identifierFilter, config }: IdentityProviderValues,
): Promise<IdentityProvider> {
  if (uid !== '' && !UID.test(uid))
    throw new DomainError('INVALID_IDENTITY_PROVIDER_ID', { id: uid.slice(0, 64) })
  const provider = {
    uid: uid === '' ? randomBytes(RANDOM_UID_BYTES).toString('hex') : uid,
    title: checkTitle(title),
    identifier_filter: checkIdentifierFilter(identifierFilter),
    client_secret: null,
    ...configColumns(app, config),
  }
  return rows.insertIdentityProvider(app.db, provider).catch((error: unknown) => {
    throw isUniqueViolation(error)
      ? new DomainError('IDENTITY_PROVIDER_ID_TAKEN', { id: uid })
      : error
  })
}

/**
 * Changes the named fields of a provider, all or none.
 *
 * @throws INVALID_FIELD, INVALID_IDENTIFIER_FILTER, IDENTITY_PROVIDER_NOT_FOUND
 */
export async function updateIdentityProvider(
  app: AccountsApp,
  provider: IdentityProvider,
  { title, identifierFilter, config }: IdentityProviderValues,
  fields: ReadonlySet<IdentityProviderField>,
): Promise<IdentityProvider> {
  const changes = {
    ...(fields.has('title') && { title: checkTitle(title) }),
    ...(fields.has('identifier_filter') && {
      identifier_filter: checkIdentifierFilter(identifierFilter),
    }),
    ...(fields.has('config') && configColumns(app, config)),
  }
  if (Object.keys(changes).length === 0) return provider
  return (
    (await rows.updateIdentityProvider(app.db, provider.uid, changes)) ??
    refuseMissing(provider.uid)
  )
}

/**
 * Deletes a provider with all identities that are linked at it.
 *
 * @throws IDENTITY_PROVIDER_NOT_FOUND, LAST_IDENTITY_PROVIDER
 */
export async function deleteIdentityProvider(app: AccountsApp, uid: string): Promise<void> {
  await transaction(app.db, async (tx) => {
    const { id } = await getIdentityProvider({ db: tx }, uid)
    if (!app.settings.passwordSignIn && !(await rows.anotherIdentityProviderExists(tx, id))) {
      throw new DomainError('LAST_IDENTITY_PROVIDER', { name: identityProviderName(uid) })
    }
    await rows.deleteIdentityProvider(tx, id)
  })
}

/** The secret of this instance at a provider; empty for a public client. */
export function clientSecretOf(app: AccountsApp, { client_secret }: IdentityProvider): string {
  return client_secret === null ? '' : open(app, SECRET_PURPOSE, client_secret).toString()
}

/** Resource name of a provider. */
export function identityProviderName(uid: string): string {
  return `identity-providers/${uid}`
}

function refuseMissing(uid: string): never {
  throw new DomainError('IDENTITY_PROVIDER_NOT_FOUND', { name: identityProviderName(uid) })
}

/** The columns of a config, without the secret where that is empty. */
function configColumns(app: AccountsApp, config: OAuth2Config | undefined) {
  if (!config) throw invalid('config')
  const { clientId, clientSecret, scopes } = config
  if (!CLIENT_ID.test(clientId)) throw invalid('config.oauth2_config.client_id')
  if (!CLIENT_SECRET.test(clientSecret)) throw invalid('config.oauth2_config.client_secret')
  if (scopes.length > MAX_SCOPES || !scopes.every((scope) => SCOPE.test(scope))) {
    throw invalid('config.oauth2_config.scopes')
  }
  return {
    client_id: clientId,
    ...(clientSecret !== '' && {
      client_secret: seal(app, SECRET_PURPOSE, Buffer.from(clientSecret)),
    }),
    auth_url: config.authUrl === '' ? '' : checkUrl('auth_url', config.authUrl),
    token_url: checkUrl('token_url', config.tokenUrl),
    user_info_url: checkUrl('user_info_url', config.userInfoUrl),
    scopes: scopes.join(' '),
    identifier_claim: checkClaimName('identifier', config.identifierClaim),
    display_name_claim: checkClaimName('display_name', config.displayNameClaim),
    email_claim: checkClaimName('email', config.emailClaim),
    avatar_url_claim: checkClaimName('avatar_url', config.avatarUrlClaim),
  }
}

function checkTitle(title: string): string {
  if (title.trim() === '' || [...title].length > MAX_TITLE_CHARACTERS) throw invalid('title')
  return title
}

function checkUrl(field: string, text: string): string {
  const isEndpoint =
    text.length <= MAX_URL_CHARACTERS &&
    ENDPOINT.test(text) &&
    URL.canParse(text) &&
    !hasInvisibleCharacters(text)
  if (!isEndpoint) throw invalid(`config.oauth2_config.${field}`)
  return text
}

/** Only the claim that people are known by is needed. */
function checkClaimName(field: string, name: string): string {
  const isMissing = field === 'identifier' && name === ''
  if (isMissing || [...name].length > MAX_CLAIM_NAME_CHARACTERS) {
    throw invalid(`config.oauth2_config.field_mapping.${field}`)
  }
  return name
}

function invalid(field: string): DomainError {
  return new DomainError('INVALID_FIELD', { field: `identity_provider.${field}` })
}
