import type { VNode } from 'preact'
import {
  type FieldMapping,
  type IdentityProvider,
  IdentityProvider_Type as Type,
} from '#gen/branchline/v1/identity_provider_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { useApi } from '../api/client.ts'
import { redirectUri } from '../api/single-sign-on.ts'
import { Command } from '../components/command.tsx'
import {
  ActionForm,
  ConfirmedForm,
  Field,
  fieldOf,
  Lines,
  linesOf,
  NewForm,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { T, t } from '../language/texts.tsx'
import { Administration } from './administration.tsx'

/** The identity providers through which users sign in. For administrators of the instance. */
export function AdministrationProvidersPage(): VNode {
  return (
    <Administration title={t('Identity providers')} page="/-/admin/identity-providers">
      <Providers />
    </Administration>
  )
}

function Providers(): VNode {
  const { of } = useApi()
  const service = of(IdentityProviderService)
  const list = useLoad((signal) => service.listIdentityProviders({}, { signal }), [])
  return (
    <>
      <p>{t('Users sign in through these providers by OAuth 2.0 or OpenID Connect.')}</p>
      <Show of={list}>
        {({ identityProviders }) => (
          <>
            {identityProviders.length === 0 && <p class="empty">{t('No identity providers.')}</p>}
            {identityProviders.map((provider) => (
              <Provider key={provider.name} provider={provider} reload={list.reload} />
            ))}
          </>
        )}
      </Show>
      <NewForm label={t('New identity provider')}>
        <p>{t('Register the server as a client of the provider first, with this address:')}</p>
        <Command
          label={t('Address that the provider sends browsers back to')}
          text={redirectUri()}
        />
        <ProviderForm
          act={async (identityProvider, form) => {
            const identityProviderId = fieldOf(form, 'id')
            await service.createIdentityProvider({ identityProvider, identityProviderId })
            list.reload()
          }}
        />
      </NewForm>
    </>
  )
}

function Provider(props: { provider: IdentityProvider; reload: () => void }): VNode {
  const { of } = useApi()
  const { provider, reload } = props
  const { name, title, identifierFilter, config } = provider
  const client = config?.config.value?.clientId ?? ''
  const service = of(IdentityProviderService)
  const paths = ['title', 'identifier_filter', 'config']
  return (
    <article class="box" aria-label={title}>
      <h2>{title}</h2>
      <p class="facts">
        {identifierFilter === '' ? (
          t('{name}, client {client}', { name, client })
        ) : (
          <T
            text="{name}, client {client}, for identifiers that match {pattern}"
            name={name}
            client={client}
            pattern={<code>{identifierFilter}</code>}
          />
        )}
      </p>
      <details class="narrow">
        <summary>{t('Change {name}', { name: title })}</summary>
        <ProviderForm
          provider={provider}
          act={async (draft) => {
            const identityProvider = { ...draft, name }
            await service.updateIdentityProvider({ identityProvider, updateMask: { paths } })
            reload()
          }}
        />
      </details>
      <ConfirmedForm
        action={t('Delete {name}', { name: title })}
        name={title}
        act={async () => {
          await service.deleteIdentityProvider({ name })
          reload()
        }}
      >
        <p>{t('Users without another way to sign in lose access.')}</p>
      </ConfirmedForm>
    </article>
  )
}

/** The members of the user info, with their names in the form and at providers of OpenID Connect. */
const MEMBERS = [
  ['identifier', t('Member with the identifier'), 'sub'],
  ['displayName', t('Member with the display name (optional)'), 'name'],
  ['email', t('Member with the e-mail address (optional)'), 'email'],
  ['avatarUrl', t('Member with the address of the picture (optional)'), 'picture'],
] as const satisfies readonly (readonly [keyof FieldMapping, string, string])[]

const ADDRESSES = [
  ['authUrl', t('Address of the sign-in page')],
  ['tokenUrl', t('Address that exchanges codes')],
  ['userInfoUrl', t('Address of the user info')],
] as const

/** Values of the form of a provider, as the API takes them. */
type ProviderDraft = ReturnType<typeof readDraft>

/** Creates an identity provider, or changes one. */
function ProviderForm(props: {
  /** Undefined for a new one. */
  provider?: IdentityProvider
  act: (draft: ProviderDraft, form: HTMLFormElement) => Promise<unknown>
}): VNode {
  const { provider, act } = props
  const config = configOf(provider)
  const label = provider ? t('Change {name}', { name: provider.title }) : t('New identity provider')
  return (
    <ActionForm
      label={label}
      submit={provider ? t('Save the provider') : t('Create the provider')}
      done={provider ? t('Saved.') : t('The provider is created.')}
      isEmptied={!provider}
      act={(form) => act(readDraft(form), form)}
    >
      <Field
        label={t('Title')}
        name="title"
        maxLength={128}
        required
        defaultValue={provider?.title ?? ''}
        hint={t('What the button of the sign-in page says.')}
      />
      {!provider && (
        <Field
          label={t('Id (optional)')}
          name="id"
          maxLength={36}
          pattern="[A-Za-z0-9]([A-Za-z0-9\-]*[A-Za-z0-9])?"
          autocapitalize="none"
          autocomplete="off"
          hint={t('Letters, digits and hyphens. Without an id, the server chooses one.')}
        />
      )}
      <Client provider={provider} />
      {ADDRESSES.map(([name, text]) => (
        <Field
          key={name}
          label={text}
          name={name}
          type="url"
          required
          defaultValue={config?.[name] ?? ''}
        />
      ))}
      <Lines
        label={t('Scopes')}
        name="scopes"
        lines={config?.scopes ?? ['openid', 'profile', 'email']}
        hint={t('One on each line.')}
      />
      <UserInfo provider={provider} />
      <Field
        label={t('Pattern of the identifiers that may sign in (empty: all)')}
        name="filter"
        maxLength={256}
        autocapitalize="none"
        autocomplete="off"
        defaultValue={provider?.identifierFilter ?? ''}
        hint={t('A regular expression, such as @example\\.org$.')}
      />
    </ActionForm>
  )
}

/** Which members of the user info have what the server wants to know. */
function UserInfo({ provider }: { provider: IdentityProvider | undefined }): VNode {
  const mapping = configOf(provider)?.fieldMapping
  return (
    <fieldset>
      <legend>{t('User info')}</legend>
      {MEMBERS.map(([name, text, usual]) => (
        <Field
          key={name}
          label={text}
          name={name}
          autocapitalize="none"
          autocomplete="off"
          required={name === 'identifier'}
          defaultValue={provider ? (mapping?.[name] ?? '') : usual}
        />
      ))}
    </fieldset>
  )
}

/** How the provider knows this server. The server never returns the secret. */
function Client({ provider }: { provider: IdentityProvider | undefined }): VNode {
  return (
    <>
      <Field
        label={t('Client id')}
        name="clientId"
        autocapitalize="none"
        autocomplete="off"
        required
        defaultValue={configOf(provider)?.clientId ?? ''}
      />
      <Field
        label={provider ? t('Client secret (empty: unchanged)') : t('Client secret')}
        name="clientSecret"
        type="password"
        autocomplete="off"
        hint={t('A server without a secret is a public client.')}
      />
    </>
  )
}

function configOf(provider: IdentityProvider | undefined) {
  const config = provider?.config?.config
  return config?.case === 'oauth2Config' ? config.value : undefined
}

function readDraft(form: HTMLFormElement) {
  const text = (name: string) => fieldOf(form, name).trim()
  return {
    title: text('title'),
    type: Type.OAUTH2,
    identifierFilter: text('filter'),
    config: {
      config: {
        case: 'oauth2Config' as const,
        value: {
          clientId: text('clientId'),
          clientSecret: fieldOf(form, 'clientSecret'),
          authUrl: text('authUrl'),
          tokenUrl: text('tokenUrl'),
          userInfoUrl: text('userInfoUrl'),
          scopes: linesOf(form, 'scopes'),
          fieldMapping: {
            identifier: text('identifier'),
            displayName: text('displayName'),
            email: text('email'),
            avatarUrl: text('avatarUrl'),
          },
        },
      },
    },
  }
}
