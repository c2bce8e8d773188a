import type { ComponentChildren, VNode } from 'preact'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { SignInLink, useTitle } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'
import { T, t } from '../language/texts.tsx'

const PAGES = [
  ['/-/admin', t('Server and accounts')],
  ['/-/admin/identity-providers', t('Identity providers')],
  ['/-/admin/maintenance', t('Maintenance')],
  ['/-/admin/storage', t('Storage')],
  ['/-/admin/metrics', t('Metrics')],
] as const

/** Frame of the pages for administrators of the instance. */
export function Administration(props: {
  title: string
  /** The address of the page, if links lead to the page. */
  page?: (typeof PAGES)[number][0]
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
          <T
            text="This page is for administrators of the server: {signIn}"
            signIn={<SignInLink />}
          />
        </p>
      )}
      {user?.role === User_Role.USER && (
        <p>{t('This page is for administrators of the server.')}</p>
      )}
      {user?.role === User_Role.ADMIN && (
        <>
          <Tabs label={t('Administration')}>
            {PAGES.map(([href, text]) => (
              <a key={href} href={href} aria-current={href === page ? 'page' : undefined}>
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
