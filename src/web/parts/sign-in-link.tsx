import type { VNode } from 'preact'

/** The sign-in leads back to the present page. */
export function SignInLink(): VNode {
  const { pathname, search } = location
  const isLogin = pathname === '/user/login'
  const back =
    isLogin || pathname === '/' ? '' : `?redirect_to=${encodeURIComponent(pathname + search)}`
  return <a href={`/user/login${back}`}>Sign in</a>
}
