import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { Code, ConnectError } from '../api/calls.ts'
import { useApi } from '../api/client.ts'
import { currentVisit, endVisit, redemptionOf } from '../api/single-sign-on.ts'
import { FailureNote, useAction } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { useTitle } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'

/** Where the browser comes back to from another provider. */
export function LoginCallback({ query }: PageProps): VNode {
  const { of, session } = useApi()
  useTitle(t('Sign in'))
  const [visit] = useState(currentVisit)
  const target = visit?.target ?? '/'
  const finish = useAction(async () => {
    const redemption = redemptionOf(visit, query)
    if (visit?.purpose === 'sign-in') return session.signInBy(redemption)
    if (!session.user) throw new ConnectError(t('your session has ended'), Code.Unauthenticated)
    const parent = session.user.name
    await of(UserService).createLinkedIdentity({ parent, ...redemption })
    endVisit()
    goTo(target)
  })
  // The page begins anew when somebody has signed in.
  const isSignedIn = visit?.purpose === 'sign-in' && session.user !== undefined
  useEffect(() => {
    if (!isSignedIn) return finish.run()
    endVisit()
    goTo(target)
  }, [])
  return (
    <>
      <h1>{t('Sign in')}</h1>
      {finish.failure ? (
        <>
          <FailureNote failure={finish.failure} />
          <p>
            <a href="/user/login">{t('Back to the sign-in')}</a>
          </p>
        </>
      ) : (
        <p class="loading">{t('The server asks the provider…')}</p>
      )}
    </>
  )
}
