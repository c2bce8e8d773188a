import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { ownTarget } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { goTo } from '../components/navigation.ts'
import { useTitle } from '../components/page.tsx'
import type { PageProps } from '../routes.ts'
import { AccountForm, isRegistrationOpen } from './sign-up.tsx'

/** Creates an account, where the server lets everybody do so. */
export function SignUp({ query }: PageProps): VNode {
  const { session } = useApi()
  useTitle('Create an account')
  const target = ownTarget(query)
  const isSignedIn = session.user !== undefined
  useEffect(() => {
    if (isSignedIn) goTo(target)
  }, [isSignedIn, target])
  return (
    <>
      <h1>Create an account</h1>
      {isRegistrationOpen() ? (
        <AccountForm submit="Create the account" passwordHint="A long one is best." />
      ) : (
        <p>Accounts of this server are created by its administrators. Ask one of them.</p>
      )}
      <p>
        If you have an account: <a href={`/user/login${location.search}`}>sign in</a>.
      </p>
    </>
  )
}
