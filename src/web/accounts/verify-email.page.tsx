import type { VNode } from 'preact'
import { UserEmailService } from '#gen/branchline/v1/user_email_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from '../components/forms.tsx'
import { SignInLink, useTitle } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'

/**
 * Where the link of a mail leads that verifies an address. A button sends the token, since programs
 * that read mails open links too.
 */
export function VerifyEmailPage({ query }: PageProps): VNode {
  const { of, session } = useApi()
  useTitle(t('Confirm your address'))
  const token = query.get('token') ?? ''
  return (
    <>
      <h1>{t('Confirm your address')}</h1>
      {session.user ? (
        <ActionForm
          act={() => of(UserEmailService).verifyUserEmail({ token })}
          submit={t('Confirm the address for {username}', { username: session.user.username })}
          done={t('The address is verified.')}
        >
          <p>
            <T
              text="The {list} shows the result."
              list={<a href="/user/settings/emails">{t('list of your addresses')}</a>}
            />
          </p>
        </ActionForm>
      ) : (
        <p>
          <T
            text="Sign in to the account to which you added the address: {signIn}"
            signIn={<SignInLink />}
          />
        </p>
      )}
    </>
  )
}
