import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { ownTarget } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { goTo } from '../components/navigation.ts'
import { useTitle } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { AccountForm, isRegistrationOpen } from './sign-up.tsx'

/** Creates an account, where the server lets everybody do so. */
export function SignUp({ query }: PageProps): VNode {
  const { session } = useApi()
  useTitle(t('Create an account'))
  const target = ownTarget(query)
  const isSignedIn = session.user !== undefined
  useEffect(() => {
    if (isSignedIn) goTo(target)
  }, [isSignedIn, target])
  return (
    <>
      <h1>{t('Create an account')}</h1>
      {isRegistrationOpen() ? (
        <AccountForm submit={t('Create the account')} passwordHint={t('A long one is best.')} />
      ) : (
        <p>{t('Accounts of this server are created by its administrators. Ask one of them.')}</p>
      )}
      <p>
        <T
          text="If you have an account: {signIn}."
          signIn={<a href={`/user/login${location.search}`}>{t('sign in')}</a>}
        />
      </p>
    </>
  )
}
