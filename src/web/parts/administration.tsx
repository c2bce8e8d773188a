import type { ComponentChildren, VNode } from 'preact'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { useTitle } from './page-title.ts'
import { SignInLink } from './sign-in-link.tsx'

/** What the pages for administrators of the instance have around them. */
export function Administration(props: { title: string; children: ComponentChildren }): VNode {
  const { user } = useApi().session
  const { title, children } = props
  useTitle(title)
  return (
    <>
      <h1>{title}</h1>
      {!user && (
        <p>
          This page is for administrators of the server: <SignInLink />
        </p>
      )}
      {user?.role === User_Role.USER && <p>This page is for administrators of the server.</p>}
      {user?.role === User_Role.ADMIN && children}
    </>
  )
}
