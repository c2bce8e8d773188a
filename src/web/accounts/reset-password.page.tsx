import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { SENT_ONCE, useApi } from '../api/client.ts'
import { failureOf } from '../api/failure.ts'
import { ActionForm, Field, fieldOf } from '../components/forms.tsx'
import { useTitle } from '../components/page.tsx'
import type { PageProps } from '../routes.ts'
import { factorOf, NewPasswordFields, newPasswordOf } from './credentials.tsx'

/** Asks for the mail that sets a new password, and is where the link of that mail leads. */
export function ResetPasswordPage({ query }: PageProps): VNode {
  const token = query.get('token') ?? ''
  useTitle('Set a new password')
  return (
    <>
      <h1>Set a new password</h1>
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
        submit="Send the mail"
        done="If the account exists and has an e-mail address, a mail with a link is on its way."
      >
        <Field
          label="Username or e-mail address"
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
        The password is set, and all sessions have ended. <a href="/user/login">Sign in</a>
      </p>
    )
  return (
    <div class="narrow">
      <ActionForm act={reset} submit="Set the password">
        <NewPasswordFields />
        {needsCode && (
          <Field
            label="Passcode"
            name="code"
            autocomplete="one-time-code"
            required
            hint="Your account has a second factor. Type the six digits of your app, or a recovery code."
          />
        )}
      </ActionForm>
    </div>
  )
}
