import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { SENT_ONCE, useApi } from '../api/client.ts'
import { failureOf } from '../api/failure.ts'
import { ActionForm, Field, fieldOf } from '../components/forms.tsx'
import { useTitle } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { factorOf, NewPasswordFields, newPasswordOf } from './credentials.tsx'

/** Asks for the mail that sets a new password, and is where the link of that mail leads. */
export function ResetPasswordPage({ query }: PageProps): VNode {
  const token = query.get('token') ?? ''
  useTitle(t('Set a new password'))
  return (
    <>
      <h1>{t('Set a new password')}</h1>
      {token === '' ? <RequestForm /> : <NewPasswordForm token={token} />}
    </>
  )
}

function RequestForm(): VNode {
  const { of } = useApi()
  const request = (form: HTMLFormElement) => {
    const who = fieldOf(form, 'who').trim()
    return of(AuthService).requestPasswordReset(
      who.includes('@') ? { email: who } : { username: who },
    )
  }
  return (
    <div class="narrow">
      <ActionForm
        act={request}
        submit={t('Send the mail')}
        done={t(
          'If the account exists and has an e-mail address, a mail with a link is on its way.',
        )}
      >
        <Field
          label={t('Username or e-mail address')}
          name="who"
          autocomplete="username"
          autocapitalize="none"
          required
        />
      </ActionForm>
    </div>
  )
}

function NewPasswordForm({ token }: { token: string }): VNode {
  const { of } = useApi()
  const [needsCode, setNeedsCode] = useState(false)
  const [isDone, setDone] = useState(false)
  const reset = async (form: HTMLFormElement) => {
    const newPassword = newPasswordOf(form)
    const factor = factorOf(fieldOf(form, 'code'))
    try {
      await of(AuthService).resetPassword({ token, newPassword, ...factor }, SENT_ONCE)
      setDone(true)
    } catch (error) {
      if (needsCode || failureOf(error).reason !== 'TWO_FACTOR_REQUIRED') throw error
      setNeedsCode(true)
    }
  }
  if (isDone)
    return (
      <p role="status">
        <T
          text="The password is set, and all sessions have ended. {signIn}"
          signIn={<a href="/user/login">{t('Sign in')}</a>}
        />
      </p>
    )
  return (
    <div class="narrow">
      <ActionForm act={reset} submit={t('Set the password')}>
        <NewPasswordFields />
        {needsCode && (
          <Field
            label={t('Passcode')}
            name="code"
            autocomplete="one-time-code"
            required
            hint={t(
              'Your account has a second factor. Type the six digits of your app, or a recovery code.',
            )}
          />
        )}
      </ActionForm>
    </div>
  )
}
