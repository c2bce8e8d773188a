import { create, type DescMessage } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type IdentityProviderConfig,
  IdentityProviderConfigSchema,
  type IdentityProvider as IdentityProviderMessage,
  IdentityProviderSchema,
  IdentityProvider_Type as Type,
} from '#gen/branchline/v1/identity_provider_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import type { App } from '../../app.ts'
import { DomainError } from '../../core/errors.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readUpdateMask, type UpdatableFields } from '../../core/wire/masks.ts'
import { parseIdentityProviderName } from '../../core/wire/names.ts'
import {
  createIdentityProvider,
  deleteIdentityProvider,
  getIdentityProvider,
  type IdentityProvider,
  type IdentityProviderField,
  type IdentityProviderValues,
  identityProviderName,
  listIdentityProviders,
  updateIdentityProvider,
} from './identity-providers.ts'

const FIELDS: readonly IdentityProviderField[] = ['title', 'identifier_filter', 'config']

/**
 * An update replaces the whole config. Clients may derive paths to parts of it, which therefore all
 * mean `config`.
 */
const CONFIG_PATHS: readonly string[] = pathsBelow('config', IdentityProviderConfigSchema)

const MASK_PATHS: UpdatableFields<string> = {
  mutable: [...FIELDS, ...CONFIG_PATHS],
  fixed: ['name', 'type'],
}

/** Implements IdentityProviderService. */
function identityProviderService(app: App): ServiceImpl<typeof IdentityProviderService> {
  return {
    async listIdentityProviders() {
      return { identityProviders: (await listIdentityProviders(app)).map(identityProviderMessage) }
    },

    async getIdentityProvider({ name }) {
      return identityProviderMessage(
        await getIdentityProvider(app, parseIdentityProviderName(name)),
      )
    },

    async createIdentityProvider({ identityProvider, identityProviderId }) {
      if (!identityProvider) throw new DomainError('INVALID_FIELD', { field: 'identity_provider' })
      checkType(identityProvider)
      return identityProviderMessage(
        await createIdentityProvider(app, identityProviderId, valuesOf(identityProvider)),
      )
    },

    async updateIdentityProvider({ identityProvider, updateMask }) {
      if (!identityProvider) throw new DomainError('INVALID_FIELD', { field: 'identity_provider' })
      const provider = await getIdentityProvider(
        app,
        parseIdentityProviderName(identityProvider.name),
      )
      const { fields: paths } = readUpdateMask(updateMask, MASK_PATHS)
      const fields = new Set(FIELDS.filter((field) => paths.has(field)))
      if (CONFIG_PATHS.some((path) => paths.has(path))) fields.add('config')
      if (fields.has('config')) checkType(identityProvider)
      return identityProviderMessage(
        await updateIdentityProvider(app, provider, valuesOf(identityProvider), fields),
      )
    },

    async deleteIdentityProvider({ name }) {
      await deleteIdentityProvider(app, parseIdentityProviderName(name))
      return {}
    },
  }
}

/** Returns the mask paths of all fields below a message. */
function pathsBelow(parent: string, { fields }: DescMessage): string[] {
  return fields.flatMap((field) => {
    const path = `${parent}.${field.name}`
    return field.fieldKind === 'message' ? [path, ...pathsBelow(path, field.message)] : [path]
  })
}

/** Checks the type, which selects the config. There is only one type so far. */
function checkType({ type }: IdentityProviderMessage): void {
  if (type !== Type.OAUTH2)
    throw new DomainError('INVALID_FIELD', { field: 'identity_provider.type' })
}

function valuesOf({
  title,
  identifierFilter,
  config,
}: IdentityProviderMessage): IdentityProviderValues {
  return { title, identifierFilter, config: configOf(config) }
}

function configOf(config: IdentityProviderConfig | undefined): IdentityProviderValues['config'] {
  if (config?.config.case !== 'oauth2Config') return undefined
  const { clientId, clientSecret, authUrl, tokenUrl, userInfoUrl, scopes, fieldMapping } =
    config.config.value
  return {
    clientId,
    clientSecret,
    authUrl,
    tokenUrl,
    userInfoUrl,
    scopes,
    identifierClaim: fieldMapping?.identifier ?? '',
    displayNameClaim: fieldMapping?.displayName ?? '',
    emailClaim: fieldMapping?.email ?? '',
    avatarUrlClaim: fieldMapping?.avatarUrl ?? '',
  }
}

/** Returns a provider without its secret, which not even administrators may read. */
function identityProviderMessage(provider: IdentityProvider): IdentityProviderMessage {
  return create(IdentityProviderSchema, {
    name: identityProviderName(provider.uid),
    type: Type.OAUTH2,
    title: provider.title,
    identifierFilter: provider.identifier_filter,
    config: {
      config: {
        case: 'oauth2Config',
        value: {
          clientId: provider.client_id,
          authUrl: provider.auth_url,
          tokenUrl: provider.token_url,
          userInfoUrl: provider.user_info_url,
          scopes: provider.scopes.split(' ').filter((scope) => scope !== ''),
          fieldMapping: {
            identifier: provider.identifier_claim,
            displayName: provider.display_name_claim,
            email: provider.email_claim,
            avatarUrl: provider.avatar_url_claim,
          },
        },
      },
    },
  })
}

export const identityProviders = defineService(IdentityProviderService, identityProviderService)
