import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { ownTarget } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { failureOf } from '../api/failure.ts'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { FailureNote, Show, useAction, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { useTitle } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { factorOf, ProviderButtons } from './credentials.tsx'
import { SignUpLink } from './sign-up.tsx'

/** No username has such a sign, so that the hint says nothing about accounts. */
const ADDRESS_HINT = t('This is an e-mail address. Type the username of your account.')

/** Sign-in by password, and by a second factor where the account has one. */
export function Login({ query }: PageProps): VNode {
  const { session } = useApi()
  useTitle(t('Sign in'))
  const [needsCode, setNeedsCode] = useState(false)
  const [hasAddress, setHasAddress] = useState(false)
  const target = ownTarget(query)
  const isSignedIn = session.user !== undefined
  useEffect(() => {
    if (isSignedIn) goTo(target)
  }, [isSignedIn, target])
  const signIn = useAction(async (form: HTMLFormElement) => {
    const [username, password] = [fieldOf(form, 'username'), fieldOf(form, 'password')]
    try {
      await session.signIn({ username, password, ...factorOf(fieldOf(form, 'code')) })
    } catch (error) {
      setHasAddress(username.includes('@'))
      if (needsCode || failureOf(error).reason !== 'TWO_FACTOR_REQUIRED') throw error
      setNeedsCode(true)
    }
  })
  return (
    <>
      <h1>{t('Sign in')}</h1>
      <form class="narrow" onSubmit={onSubmit(signIn.run)}>
        {signIn.failure && <FailureNote failure={signIn.failure} />}
        <Field
          label={t('Username')}
          name="username"
          autocomplete="username"
          autocapitalize="none"
          required
          hint={hasAddress ? ADDRESS_HINT : undefined}
        />
        <Field
          label={t('Password')}
          name="password"
          type="password"
          autocomplete="current-password"
          required
        />
        {needsCode && (
          <Field
            label={t('Passcode')}
            name="code"
            autocomplete="one-time-code"
            autofocus
            required
            hint={t(
              'Your account has a second factor. Type the six digits of your app, or a recovery code.',
            )}
          />
        )}
        <button class="main" type="submit" disabled={signIn.isRunning}>
          {t('Sign in')}
        </button>
      </form>
      <OtherWays target={target} />
    </>
  )
}

/** Other providers, and the mail for a new password. */
function OtherWays({ target }: { target: string }): VNode {
  const { of } = useApi()
  const providers = useLoad(
    (signal) => of(IdentityProviderService).listIdentityProviders({}, { signal }),
    [],
  )
  return (
    <>
      <Show of={providers}>
        {({ identityProviders }) => (
          <ProviderButtons providers={identityProviders} purpose="sign-in" target={target} />
        )}
      </Show>
      <p class="names">
        <a href="/reset-password">{t('Forgotten password')}</a>
        <SignUpLink search={location.search} />
      </p>
    </>
  )
}
