import type { VNode } from 'preact'
import type { IdentityProvider } from '#gen/branchline/v1/identity_provider_pb.ts'
import { authorizationUrlOf, visitProvider } from '../api/single-sign-on.ts'
import { FailureNote } from '../components/failure-note.tsx'
import { useAction } from '../components/load.tsx'

/** Buttons that lead to the sign-in pages of other providers. */
export function ProviderButtons(props: {
  providers: readonly IdentityProvider[]
  purpose: 'sign-in' | 'link'
  /** The page to show afterwards. */
  target: string
}): VNode {
  const { providers, purpose, target } = props
  const visit = useAction((provider: IdentityProvider) =>
    visitProvider(provider, { purpose, target }),
  )
  return (
    <>
      {visit.failure && <FailureNote failure={visit.failure} />}
      {providers.filter(authorizationUrlOf).map((provider) => (
        <p key={provider.name}>
          <button type="button" disabled={visit.isRunning} onClick={() => visit.run(provider)}>
            {purpose === 'link' ? 'Link' : 'Sign in with'} {provider.title}
          </button>
        </p>
      ))}
    </>
  )
}
