import type { VNode } from 'preact'
import { useApi } from '../api/client.ts'
import { useTitle } from './page-title.ts'
import { SignInLink } from './sign-in-link.tsx'

/** The page of an address that shows nothing to the user. */
export function NotFound(): VNode {
  const { session } = useApi()
  useTitle('Page not found')
  return (
    <>
      <h1>Page not found</h1>
      <p>There is nothing at this address, or your account may not see it.</p>
      {session.user ? (
        <p>Check the address, or ask the owner of the repository for access.</p>
      ) : (
        <p>
          If it is private: <SignInLink />
        </p>
      )}
    </>
  )
}

/**
 * Returns whether the server has said with the page that a stranger sees nothing at this address, so
 * that a stranger need not ask again.
 */
export function useIsKnownMissing(): boolean {
  const { session } = useApi()
  return document.documentElement.dataset.page === 'missing' && session.user === undefined
}
