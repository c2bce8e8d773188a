import type { VNode } from 'preact'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { NextSteps } from '../parts/next-steps.tsx'
import { useTitle } from '../parts/page-title.ts'
import { SignInLink } from '../parts/sign-in-link.tsx'

/** The account of the user, and the commands that change it. */
export default function Settings(): VNode {
  const { user } = useApi().session
  useTitle('Settings')
  return (
    <>
      <h1>Settings</h1>
      {user ? (
        <>
          <dl>
            <dt>Username</dt>
            <dd>{user.username}</dd>
            <dt>E-mail address</dt>
            <dd>{user.email || 'none'}</dd>
            <dt>Role</dt>
            <dd>{user.role === User_Role.ADMIN ? 'administrator' : 'user'}</dd>
          </dl>
          <p>
            The pages cannot change settings yet. The <a href="/openapi.json">API</a> can.
          </p>
          <NextSteps username={user.username} />
        </>
      ) : (
        <p>
          Settings are for signed-in users: <SignInLink />
        </p>
      )}
    </>
  )
}
