import type { VNode } from 'preact'
import type { IdentityProvider } from '#gen/branchline/v1/identity_provider_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { useApi } from '../api/client.ts'
import { redirectUri } from '../api/single-sign-on.ts'
import { Command } from '../components/command.tsx'
import { ConfirmedForm } from '../components/confirmed-form.tsx'
import { fieldOf } from '../components/field.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Administration } from './administration.tsx'
import { ProviderForm } from './provider-form.tsx'

/** The identity providers through which users sign in. For administrators of the instance. */
export default function AdministrationProvidersPage(): VNode {
  return (
    <Administration title="Identity providers" page="Identity providers">
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
      <p>Users sign in through these providers by OAuth 2.0 or OpenID Connect.</p>
      <Show of={list}>
        {({ identityProviders }) => (
          <>
            {identityProviders.length === 0 && <p>No identity providers.</p>}
            {identityProviders.map((provider) => (
              <Provider key={provider.name} provider={provider} reload={list.reload} />
            ))}
          </>
        )}
      </Show>
      <details class="narrow">
        <summary>New identity provider</summary>
        <p>Register the server as a client of the provider first, with this address:</p>
        <Command label="Address that the provider sends browsers back to" text={redirectUri()} />
        <ProviderForm
          act={async (identityProvider, form) => {
            const identityProviderId = fieldOf(form, 'id')
            await service.createIdentityProvider({ identityProvider, identityProviderId })
            list.reload()
          }}
        />
      </details>
    </>
  )
}

function Provider(props: { provider: IdentityProvider; reload: () => void }): VNode {
  const { of } = useApi()
  const { provider, reload } = props
  const { name, title, identifierFilter, config } = provider
  const service = of(IdentityProviderService)
  const paths = ['title', 'identifier_filter', 'config']
  return (
    <article class="box" aria-label={title}>
      <h2>{title}</h2>
      <p class="facts">
        {name}, client {config?.config.value?.clientId}
        {identifierFilter !== '' && (
          <>
            , for identifiers that match <code>{identifierFilter}</code>
          </>
        )}
      </p>
      <details class="narrow">
        <summary>Change {title}</summary>
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
        action={`Delete ${title}`}
        name={title}
        act={async () => {
          await service.deleteIdentityProvider({ name })
          reload()
        }}
      >
        <p>Users without another way to sign in lose access.</p>
      </ConfirmedForm>
    </article>
  )
}
