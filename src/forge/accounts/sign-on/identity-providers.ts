import { randomBytes } from 'node:crypto'
import { RE2JS } from 're2js'
import { isUniqueViolation, transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { DomainError } from '../../core/errors.ts'
import { hasInvisibleCharacters } from '../../core/invisible-characters.ts'
import { open, seal } from '../credentials/sealed-secrets.ts'
import type { AccountsApp } from '../ports.ts'
import type { IdentityProvider } from '../schema.ts'
import * as rows from './identity-providers.rows.ts'

export type { IdentityProvider }

/** The fields that an update may change. */
export type IdentityProviderField = 'title' | 'identifier_filter' | 'config'

/** The endpoints of a provider and the meaning of its claims. */
export interface OAuth2Config {
  readonly clientId: string
  /** Empty for a public client. In an update, empty keeps the stored secret. */
  readonly clientSecret: string
  readonly authUrl: string
  readonly tokenUrl: string
  readonly userInfoUrl: string
  readonly scopes: readonly string[]
  /** Names of claims. Only the identifier claim is required. */
  readonly identifierClaim: string
  readonly displayNameClaim: string
  readonly emailClaim: string
  readonly avatarUrlClaim: string
}

/** Values of a provider. An update ignores the values of fields that it does not name. */
export interface IdentityProviderValues {
  readonly title: string
  readonly identifierFilter: string
  /** Undefined if missing in the request. */
  readonly config: OAuth2Config | undefined
}

/** Purpose for `seal` and `open`. */
const SECRET_PURPOSE = 'identity-provider-client-secret'

const UID = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,34}[A-Za-z0-9])?$/

/** 48 random bits, so ids do not collide in practice. */
const RANDOM_UID_BYTES = 6

const MAX_TITLE_CHARACTERS = 128
const MAX_URL_CHARACTERS = 2048

/**
 * An absolute URL without a fragment (RFC 6749 section 3), without credentials, which would be
 * public, and without characters that URL parsers silently remove.
 */
const ENDPOINT = /^https?:\/\/[^\s\p{Cc}/?#@\\]+([/?][^\s\p{Cc}#\\]*)?$/iu

const MAX_CLAIM_NAME_CHARACTERS = 128
const MAX_SCOPES = 100

/** RFC 6749 appendix A.1, with a maximum length. */
const CLIENT_ID = /^[\x20-\x7e]{1,1024}$/

/** RFC 6749 appendix A.2. Some providers use a signed token as the secret. */
const CLIENT_SECRET = /^[\x20-\x7e]{0,4096}$/

/** RFC 6749 appendix A.4, with a maximum length. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/** Lists all providers in order of creation. */
export function listIdentityProviders(app: AccountsApp): Promise<IdentityProvider[]> {
  return rows.listIdentityProviders(app.db)
}

/** Returns a provider. */
export async function getIdentityProvider(
  app: Pick<AccountsApp, 'db'>,
  uid: string,
): Promise<IdentityProvider> {
  return (await rows.findIdentityProvider(app.db, uid)) ?? refuseMissing(uid)
}

/** Checks in a transaction that a provider read earlier still exists. */
export async function requirePresentProvider(tx: Tx, { id, uid }: IdentityProvider): Promise<void> {
  // A new provider may have the same uid.
  if ((await rows.findIdentityProvider(tx, uid))?.id !== id) refuseMissing(uid)
}

/**
 * Creates a provider.
 *
 * @param uid empty to generate one.
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

/** Changes fields of a provider. Either every field changes or none does. */
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

/** Deletes a provider and all identities linked at it. */
export async function deleteIdentityProvider(app: AccountsApp, uid: string): Promise<void> {
  await transaction(app.db, async (tx) => {
    const { id } = await getIdentityProvider({ db: tx }, uid)
    if (!app.settings.passwordSignIn && !(await rows.anotherIdentityProviderExists(tx, id))) {
      throw new DomainError('LAST_IDENTITY_PROVIDER', { name: identityProviderName(uid) })
    }
    await rows.deleteIdentityProvider(tx, id)
  })
}

/** Returns the client secret of this instance at a provider; empty for a public client. */
export function clientSecretOf(app: AccountsApp, { client_secret }: IdentityProvider): string {
  return client_secret === null ? '' : open(app, SECRET_PURPOSE, client_secret).toString()
}

/** Returns the resource name of a provider. */
export function identityProviderName(uid: string): string {
  return `identity-providers/${uid}`
}

function refuseMissing(uid: string): never {
  throw new DomainError('IDENTITY_PROVIDER_NOT_FOUND', { name: identityProviderName(uid) })
}

/** Returns the columns of a config, without the secret if it is empty. */
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

/** Checks the name of a claim. Only the identifier claim is required. */
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

const MAX_PATTERN_CHARACTERS = 256

/**
 * Maximum number of instructions of a compiled pattern. Matching time is proportional to it. A
 * short pattern of nested repetitions may compile to hundreds of thousands of instructions, which
 * take seconds to match.
 */
const MAX_PROGRAM_INSTRUCTIONS = 1000

/**
 * Validates a filter, which is empty or an RE2 regular expression. RE2 never backtracks
 * (https://swtch.com/~rsc/regexp/regexp1.html).
 *
 * @throws INVALID_IDENTIFIER_FILTER
 */
export function checkIdentifierFilter(filter: string): string {
  if (filter !== '' && !compile(filter)) throw new DomainError('INVALID_IDENTIFIER_FILTER')
  return filter
}

/** Returns whether a valid filter matches a part of an identifier. */
export function admitsIdentifier(filter: string, identifier: string): boolean {
  return filter === '' || compile(filter)?.test(identifier) === true
}

function compile(filter: string): RE2JS | undefined {
  if ([...filter].length > MAX_PATTERN_CHARACTERS) return undefined
  try {
    const pattern = RE2JS.compile(filter)
    return pattern.programSize() <= MAX_PROGRAM_INSTRUCTIONS ? pattern : undefined
  } catch {
    // Any parser error means that the pattern is invalid.
    return undefined
  }
}
