import type { VNode } from 'preact'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import type { IdentityProvider } from '#gen/branchline/v1/identity_provider_pb.ts'
import { Code, ConnectError } from '../api/calls.ts'
import { type Api, SENT_ONCE } from '../api/client.ts'
import { authorizationUrlOf, visitProvider } from '../api/single-sign-on.ts'
import { Field, fieldOf } from '../components/forms.tsx'
import { FailureNote, useAction } from '../components/load.tsx'
import { t } from '../language/texts.tsx'

/** Asks for a proof that the owner of the session is present. */
export function PresentOwnerFields({
  purpose = t('The server asks again some time after you have signed in.'),
}: {
  purpose?: string
}): VNode {
  return (
    <>
      <Field
        label={t('Your present password')}
        name="present-password"
        type="password"
        autocomplete="current-password"
        hint={purpose}
      />
      <details>
        <summary>{t('Use the second factor instead of the password')}</summary>
        <Field
          label={t('Passcode or recovery code')}
          name="present-code"
          autocomplete="one-time-code"
          hint={t(
            'Without a password and a second factor, sign in again. The sign-in counts for 15 minutes.',
          )}
        />
      </details>
    </>
  )
}

/**
 * Sends the proof of the form. Without one the server decides, since a recent sign-in suffices for
 * most changes.
 */
export async function provePresence({ of }: Api, form: HTMLFormElement): Promise<void> {
  const password = fieldOf(form, 'present-password')
  const factor = factorOf(fieldOf(form, 'present-code'))
  if (`${password}${factor.passcode}${factor.recoveryCode}` === '') return
  await of(AuthService).confirmSession({ password, ...factor }, SENT_ONCE)
}

/** Passcodes are digits, and recovery codes have other characters too. */
export function factorOf(text: string): { passcode: string; recoveryCode: string } {
  const code = text.replaceAll(' ', '')
  return /^\d*$/.test(code)
    ? { passcode: code, recoveryCode: '' }
    : { passcode: '', recoveryCode: code }
}

/** The part of a form that asks for a new password, twice. */
export function NewPasswordFields(): VNode {
  return (
    <>
      <Field
        label={t('New password')}
        name="password"
        type="password"
        autocomplete="new-password"
        required
      />
      <Field
        label={t('New password again')}
        name="again"
        type="password"
        autocomplete="new-password"
        required
      />
    </>
  )
}

/**
 * Returns the new password of a form that is sent.
 *
 * @throws ConnectError if the two texts differ.
 */
export function newPasswordOf(form: HTMLFormElement): string {
  const password = fieldOf(form, 'password')
  if (password !== fieldOf(form, 'again'))
    throw new ConnectError(t('the two passwords differ'), Code.InvalidArgument)
  return password
}

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
            {purpose === 'link'
              ? t('Link {provider}', { provider: provider.title })
              : t('Sign in with {provider}', { provider: provider.title })}
          </button>
        </p>
      ))}
    </>
  )
}
