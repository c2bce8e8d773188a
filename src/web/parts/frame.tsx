import type { ComponentChildren, VNode } from 'preact'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { goTo } from './navigation.ts'

/** What all pages have around them. */
export function Frame(props: {
  user: User | undefined
  isLoading: boolean
  children: ComponentChildren
}): VNode {
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
          <span class="space" />
          {user ? <UserLinks user={user} /> : !isLoading && <SignInLink />}
        </nav>
      </header>
      <main id="content" tabIndex={-1} aria-busy={isLoading}>
        {children}
      </main>
    </>
  )
}

function UserLinks({ user }: { user: User }): VNode {
  const { session } = useApi()
  return (
    <>
      <a href={`/${user.username}`}>{user.username}</a>
      <a href="/user/settings">Settings</a>
      <button
        type="button"
        onClick={() => {
          session.signOut().then(
            () => goTo('/'),
            () => goTo('/user/settings'),
          )
        }}
      >
        Sign out
      </button>
    </>
  )
}

/** The sign-in leads back to the present page. */
export function SignInLink(): VNode {
  const { pathname, search } = location
  const isLogin = pathname === '/user/login'
  const back =
    isLogin || pathname === '/' ? '' : `?redirect_to=${encodeURIComponent(pathname + search)}`
  return <a href={`/user/login${back}`}>Sign in</a>
}
