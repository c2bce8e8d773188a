import type { ComponentChildren, VNode } from 'preact'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { SignInLink, useTitle } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'

const PAGES = [
  ['/-/admin', 'Server and accounts'],
  ['/-/admin/identity-providers', 'Identity providers'],
  ['/-/admin/maintenance', 'Maintenance'],
  ['/-/admin/storage', 'Storage'],
  ['/-/admin/metrics', 'Metrics'],
] as const

/** Frame of the pages for administrators of the instance. */
export function Administration(props: {
  title: string
  /** The page that links lead to, if the page is one of these. */
  page?: (typeof PAGES)[number][1]
  children: ComponentChildren
}): VNode {
  const { user } = useApi().session
  const { title, page, children } = props
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
      {user?.role === User_Role.ADMIN && (
        <>
          <Tabs label="Administration">
            {PAGES.map(([href, text]) => (
              <a key={href} href={href} aria-current={text === page ? 'page' : undefined}>
                {text}
              </a>
            ))}
          </Tabs>
          {children}
        </>
      )}
    </>
  )
}
