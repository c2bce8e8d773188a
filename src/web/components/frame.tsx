import type { ComponentChildren, VNode } from 'preact'
import { type User, User_Role } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { NotificationsLink } from '../notifications/notifications-link.tsx'
import { FailureNote } from './failure-note.tsx'
import { useAction } from './load.tsx'
import { goTo } from './navigation.ts'
import { SignInLink } from './sign-in-link.tsx'

/** Frame of all pages. */
export function Frame(props: {
  user: User | undefined
  isLoading: boolean
  children: ComponentChildren
}): VNode {
  const { session } = useApi()
  const { user, isLoading, children } = props
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <nav aria-label="Site">
          <a class="brand" href="/">
            Branchline
          </a>
          <a href="/explore">Explore</a>
          <a href="/-/api">API</a>
          <span class="space" />
          {user ? <UserLinks user={user} /> : !isLoading && <SignInLink />}
        </nav>
      </header>
      <main id="content" tabIndex={-1} aria-busy={isLoading}>
        {session.hasEnded && <EndedSession />}
        {children}
      </main>
    </>
  )
}

/** Why the user is a stranger on a page that knew the user. */
function EndedSession(): VNode {
  return (
    <div class="note problem" role="alert">
      <p>
        <strong>You are signed out.</strong> Your session has ended: somebody ended it or set a new
        password, or it was not used for 30 days. <SignInLink />
      </p>
    </div>
  )
}

function UserLinks({ user }: { user: User }): VNode {
  const { session } = useApi()
  const signOut = useAction(async () => {
    await session.signOut()
    goTo('/')
  })
  return (
    <>
      <a href={`/${user.username}`}>{user.username}</a>
      <NotificationsLink href={location.href} />
      <a href="/memos">Memos</a>
      <a href="/user/settings">Settings</a>
      {user.role === User_Role.ADMIN && <a href="/-/admin">Administration</a>}
      <button type="button" disabled={signOut.isRunning} onClick={() => signOut.run()}>
        Sign out
      </button>
      {signOut.failure && <FailureNote failure={signOut.failure} />}
    </>
  )
}
