import type { VNode } from 'preact'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import type { LinkedIdentity } from '#gen/branchline/v1/linked_identity_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from '../components/action-form.tsx'
import { Confirmed } from '../components/confirmed.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { SettingsFrame } from './account-settings.tsx'
import { PresentOwnerFields, provePresence } from './present-owner.tsx'
import { ProviderButtons } from './providers.tsx'
import { TwoFactorSection } from './two-factor.tsx'

/** How the user signs in, besides the password. */
export default function SecurityPage(): VNode {
  return (
    <SettingsFrame tab="Security">
      {({ name }) => (
        <>
          <TwoFactorSection user={name} />
          <Identities user={name} />
          <h2>Sessions</h2>
          <p>
            A <a href="/user/settings">new password</a> ends all your sessions but this one.
          </p>
        </>
      )}
    </SettingsFrame>
  )
}

function Identities({ user }: { user: string }): VNode {
  const api = useApi()
  const { of } = api
  const list = useLoad(
    async (signal) => {
      const [{ linkedIdentities }, { identityProviders }] = await Promise.all([
        of(UserService).listLinkedIdentities({ parent: user }, { signal }),
        of(IdentityProviderService).listIdentityProviders({}, { signal }),
      ])
      const titles = new Map(identityProviders.map(({ name, title }) => [name, title]))
      const identities = linkedIdentities.map((identity) => ({
        identity,
        title: titles.get(identity.idpName) ?? identity.idpName,
      }))
      const linked = new Set(linkedIdentities.map(({ idpName }) => idpName))
      return { identities, others: identityProviders.filter(({ name }) => !linked.has(name)) }
    },
    [user],
  )
  return (
    <section aria-labelledby="identities">
      <h2 id="identities">Single sign-on</h2>
      <Show of={list}>
        {({ identities, others }) => (
          <>
            {identities.length === 0 && <p>No other provider signs you in.</p>}
            <ul class="list">
              {identities.map((entry) => (
                <IdentityItem key={entry.identity.name} {...entry} onDeleted={list.reload} />
              ))}
            </ul>
            {others.length > 0 && (
              <ActionForm
                act={(form) => provePresence(api, form)}
                submit="Confirm that it is you"
                done="You may link an identity within 15 minutes."
                isEmptied
              >
                <PresentOwnerFields />
              </ActionForm>
            )}
            <ProviderButtons providers={others} purpose="link" target="/user/settings/security" />
          </>
        )}
      </Show>
    </section>
  )
}

function IdentityItem(props: {
  identity: LinkedIdentity
  title: string
  onDeleted: () => void
}): VNode {
  const { identity, title, onDeleted } = props
  const { of } = useApi()
  const unlink = async () => {
    await of(UserService).deleteLinkedIdentity({ name: identity.name })
    onDeleted()
  }
  return (
    <li>
      <strong>{title}</strong>
      <p class="facts">You are {identity.externUid} there.</p>
      <Confirmed
        action="Unlink"
        about={title}
        question="The provider does not sign you in any more."
        act={unlink}
      />
    </li>
  )
}
