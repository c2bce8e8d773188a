import type { ComponentChildren, VNode } from 'preact'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { SignInLink, useTitle } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'

const TABS = {
  Profile: '/user/settings',
  Security: '/user/settings/security',
  Sessions: '/user/settings/sessions',
  'E-mail': '/user/settings/emails',
  'Access tokens': '/user/settings/tokens',
  Keys: '/user/settings/keys',
  Applications: '/user/settings/applications',
  Webhooks: '/user/settings/hooks',
  Storage: '/user/settings/storage',
} as const

/** Frame of the pages of an account. Their content is for signed-in users. */
export function SettingsFrame(props: {
  tab: keyof typeof TABS
  children: (user: User) => ComponentChildren
}): VNode {
  const { tab, children } = props
  const { user } = useApi().session
  useTitle(`${tab} · Settings`)
  return (
    <div class="account">
      <h1>Settings</h1>
      {user ? (
        <>
          <Tabs label="Settings">
            {Object.entries(TABS).map(([name, href]) => (
              <a key={name} href={href} aria-current={name === tab ? 'page' : undefined}>
                {name}
              </a>
            ))}
          </Tabs>
          {children(user)}
        </>
      ) : (
        <p>
          Settings are for signed-in users: <SignInLink />
        </p>
      )}
    </div>
  )
}
