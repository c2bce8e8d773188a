import type { VNode } from 'preact'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { FailureNote } from '../components/failure-note.tsx'
import { Field, fieldOf, onSubmit } from '../components/field.tsx'
import { useAction } from '../components/load.tsx'

/** Creates an account, and signs its user in. */
export function AccountForm(props: {
  submit: string
  passwordHint: string
  /** Called when the account exists, before the sign-in. */
  onCreated?: () => void
}): VNode {
  const { of, session } = useApi()
  const { submit, passwordHint, onCreated } = props
  const creation = useAction(async (form: HTMLFormElement) => {
    const [username, password] = [fieldOf(form, 'username'), fieldOf(form, 'password')]
    const email = fieldOf(form, 'email')
    await of(UserService).createUser({ user: { username, password, email } })
    onCreated?.()
    await session.signIn({ username, password, passcode: '', recoveryCode: '' })
  })
  return (
    <form class="narrow" onSubmit={onSubmit(creation.run)}>
      {creation.failure && <FailureNote failure={creation.failure} />}
      <Field
        label="Username"
        name="username"
        autocomplete="username"
        autocapitalize="none"
        required
      />
      <Field label="E-mail address (optional)" name="email" type="email" autocomplete="email" />
      <Field
        label="Password"
        name="password"
        type="password"
        autocomplete="new-password"
        required
        hint={passwordHint}
      />
      <button class="main" type="submit" disabled={creation.isRunning}>
        {submit}
      </button>
    </form>
  )
}
