import type { VNode } from 'preact'
import { UserEmailService } from '#gen/branchline/v1/user_email_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from '../components/forms.tsx'
import { SignInLink, useTitle } from '../components/page.tsx'
import type { PageProps } from '../routes.ts'

/**
 * Where the link of a mail leads that verifies an address. A button sends the token, since programs
 * that read mails open links too.
 */
export function VerifyEmailPage({ query }: PageProps): VNode {
  const { of, session } = useApi()
  useTitle('Confirm your address')
  const token = query.get('token') ?? ''
  return (
    <>
      <h1>Confirm your address</h1>
      {session.user ? (
        <ActionForm
          act={() => of(UserEmailService).verifyUserEmail({ token })}
          submit={`Confirm the address for ${session.user.username}`}
          done="The address is verified."
        >
          <p>
            The <a href="/user/settings/emails">list of your addresses</a> shows the result.
          </p>
        </ActionForm>
      ) : (
        <p>
          Sign in to the account to which you added the address: <SignInLink />
        </p>
      )}
    </>
  )
}
