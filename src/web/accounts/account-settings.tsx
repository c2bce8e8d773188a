import type { ComponentChildren, VNode } from 'preact'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { SignInLink, useTitle } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'
import { t } from '../language/texts.tsx'

const TABS = {
  Profile: ['/user/settings', t('Profile')],
  Security: ['/user/settings/security', t('Security')],
  Sessions: ['/user/settings/sessions', t('Sessions')],
  'E-mail': ['/user/settings/emails', t('E-mail')],
  'Access tokens': ['/user/settings/tokens', t('Access tokens')],
  Keys: ['/user/settings/keys', t('Keys')],
  Applications: ['/user/settings/applications', t('Applications')],
  Webhooks: ['/user/settings/hooks', t('Webhooks')],
  Storage: ['/user/settings/storage', t('Storage')],
} as const

/** Frame of the pages of an account. Their content is for signed-in users. */
export function SettingsFrame(props: {
  tab: keyof typeof TABS
  children: (user: User) => ComponentChildren
}): VNode {
  const { tab, children } = props
  const { user } = useApi().session
  useTitle(`${TABS[tab][1]} · ${t('Settings')}`)
  return (
    <div class="account">
      <h1>{t('Settings')}</h1>
      {user ? (
        <>
          <Tabs label={t('Settings')}>
            {Object.entries(TABS).map(([name, [href, text]]) => (
              <a key={name} href={href} aria-current={name === tab ? 'page' : undefined}>
                {text}
              </a>
            ))}
          </Tabs>
          {children(user)}
        </>
      ) : (
        <p>
          {t('Settings are for signed-in users:')} <SignInLink />
        </p>
      )}
    </div>
  )
}
