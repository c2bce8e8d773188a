import type { VNode } from 'preact'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Command } from './command.tsx'
import { FailureNote } from './failure-note.tsx'
import { Field, fieldOf, onSubmit } from './field.tsx'
import { useAction } from './load.tsx'
import { useTitle } from './page-title.ts'

const CREATE_COMMAND =
  'node dist/main.js user create --data ./data --username ada --role admin --password-stdin < password.txt'

/**
 * Creates the first account, which administers the instance. The server accepts it from its own
 * machine only, and has said whether this browser is there.
 */
export function FirstRun({ isHere }: { isHere: boolean }): VNode {
  useTitle('Set up')
  return (
    <>
      <h1>Welcome to Branchline</h1>
      <p>This server has no account yet. The first account administers the server.</p>
      {isHere ? <FirstAccountForm /> : <p>Create it on the machine of the server:</p>}
      {!isHere && (
        <>
          <Command text={CREATE_COMMAND} label="Command that creates the first account" />
          <p>
            Or open the pages on that machine, at the address that the server printed when it
            started.
          </p>
        </>
      )}
    </>
  )
}

function FirstAccountForm(): VNode {
  const { of, session } = useApi()
  const creation = useAction(async (form: HTMLFormElement) => {
    const [username, password] = [fieldOf(form, 'username'), fieldOf(form, 'password')]
    const email = fieldOf(form, 'email')
    await of(UserService).createUser({ user: { username, password, email } })
    document.documentElement.dataset.firstRun = 'no'
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
        hint="A long one: this account may do everything."
      />
      <button class="main" type="submit" disabled={creation.isRunning}>
        Create the administrator
      </button>
    </form>
  )
}
