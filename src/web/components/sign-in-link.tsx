import type { VNode } from 'preact'
import { useFragment } from './navigation.ts'

/** The sign-in leads back to the present page. */
export function SignInLink(): VNode {
  const { pathname, search } = location
  const fragment = useFragment()
  const isLogin = pathname === '/user/login' || pathname === '/user/sign_up'
  const back =
    isLogin || pathname === '/'
      ? ''
      : `?redirect_to=${encodeURIComponent(pathname + search + fragment)}`
  return <a href={`/user/login${back}`}>Sign in</a>
}
