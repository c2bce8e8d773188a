import type { VNode } from 'preact'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { type Api, SENT_ONCE } from '../api/client.ts'
import { Field, fieldOf } from '../components/field.tsx'
import { factorOf } from './second-factor.ts'

/** Asks for a proof that the owner of the session is present. */
export function PresentOwnerFields({
  purpose = 'The server asks again some time after you have signed in.',
}: {
  purpose?: string
}): VNode {
  return (
    <>
      <Field
        label="Your present password"
        name="present-password"
        type="password"
        autocomplete="current-password"
        hint={purpose}
      />
      <details>
        <summary>Use the second factor instead of the password</summary>
        <Field
          label="Passcode or recovery code"
          name="present-code"
          autocomplete="one-time-code"
          hint="Without a password and a second factor, sign in again. The sign-in counts for 15 minutes."
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
