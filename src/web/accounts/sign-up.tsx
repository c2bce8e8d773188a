import type { VNode } from 'preact'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Command } from '../components/command.tsx'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { FailureNote, useAction } from '../components/load.tsx'
import { useTitle } from '../components/page.tsx'
import { t } from '../language/texts.tsx'

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
        label={t('Username')}
        name="username"
        autocomplete="username"
        autocapitalize="none"
        required
      />
      <Field
        label={t('E-mail address (optional)')}
        name="email"
        type="email"
        autocomplete="email"
      />
      <Field
        label={t('Password')}
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

const CREATE_COMMAND =
  'node dist/main.js user create --data ./data --username ada --role admin --password-stdin < password.txt'

/**
 * Creates the first account, which administers the instance. The server accepts it from its own
 * machine only, and has said whether this browser is there.
 */
export function FirstRun({ isHere }: { isHere: boolean }): VNode {
  useTitle(t('Set up'))
  return (
    <>
      <h1>{t('Welcome to Branchline')}</h1>
      <p>{t('This server has no account yet. The first account administers the server.')}</p>
      {isHere ? <FirstAccountForm /> : <p>{t('Create it on the machine of the server:')}</p>}
      {!isHere && (
        <>
          <Command text={CREATE_COMMAND} label={t('Command that creates the first account')} />
          <p>
            {t(
              'Or open the pages on that machine, at the address that the server printed when it started.',
            )}
          </p>
        </>
      )}
    </>
  )
}

function FirstAccountForm(): VNode {
  return (
    <AccountForm
      submit={t('Create the administrator')}
      passwordHint={t('Choose a long one: this account has all rights.')}
      onCreated={() => {
        document.documentElement.dataset.firstRun = 'no'
      }}
    />
  )
}

/** Returns whether everybody may create an account with a password. The server says so with each page. */
export function isRegistrationOpen(): boolean {
  return document.documentElement.dataset.registration === 'open'
}

/** The way to an account, where everybody may create one. */
export function SignUpLink({ search = '' }: { search?: string }): VNode | null {
  return isRegistrationOpen() ? (
    <a href={`/user/sign_up${search}`}>{t('Create an account')}</a>
  ) : null
}
