import type { ComponentChildren, VNode } from 'preact'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import type { Organization } from '#gen/branchline/v1/organization_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { type Api, useApi } from '../api/client.ts'
import { ActionButton } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { SignInLink, useTitle } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'
import { t } from '../language/texts.tsx'

const PAGES = [
  ['', 'General'],
  ['/members', 'Members'],
  ['/teams', 'Teams'],
  ['/hooks', 'Webhooks'],
  ['/storage', 'Storage'],
] as const

interface SettingsProps {
  readonly org: string
  readonly page: (typeof PAGES)[number][1]
  readonly children: (organization: Organization, reload: () => void) => ComponentChildren
}

/** Returns the address of the settings of an organisation. */
export function organizationSettingsHref(org: string): string {
  return `/-/organizations/${encodeURIComponent(org)}`
}

/** Frame of all pages of the settings of an organisation. */
export function OrganizationSettings(props: SettingsProps): VNode {
  const { session } = useApi()
  useTitle(`${t(props.page)} · ${props.org}`)
  if (session.user) return <ForUsers {...props} />
  return (
    <>
      <h1>{t('Settings of an organisation')}</h1>
      <p>
        {t('Settings are for signed-in users:')} <SignInLink />
      </p>
    </>
  )
}

function ForUsers({ org, page, children }: SettingsProps): VNode {
  const api = useApi()
  const found = useLoad(
    async (signal) => ({
      organization: await api.of(OrganizationService).getOrganization({ org }, { signal }),
      rights: await organizationRights(api, org, signal),
    }),
    [org],
  )
  const base = organizationSettingsHref(org)
  return (
    <Show of={found} isPage>
      {({ organization, rights }) => (
        <>
          <h1>
            <a href={`/${organization.name}`}>{organization.name}</a>
          </h1>
          {rights.isOwner ? (
            <>
              <Tabs label={t('Settings')}>
                {PAGES.map(([path, text]) => (
                  <a
                    key={path}
                    href={base + path}
                    aria-current={text === page ? 'page' : undefined}
                  >
                    {t(text)}
                  </a>
                ))}
              </Tabs>
              <h2>{t(page)}</h2>
              {children(organization, found.reload)}
            </>
          ) : (
            <p>{t('Only owners of the organisation see and change its settings.')}</p>
          )}
        </>
      )}
    </Show>
  )
}

/** Rights of the user in an organisation. */
interface OrganizationRights {
  readonly isOwner: boolean
  readonly canCreateRepository: boolean
}

/** Returns the rights of who is signed in. The API says what teams give, not what the role gives. */
export async function organizationRights(
  { of, session }: Api,
  org: string,
  signal: AbortSignal,
): Promise<OrganizationRights> {
  const { user } = session
  if (!user) return { isOwner: false, canCreateRepository: false }
  if (user.role === User_Role.ADMIN) return { isOwner: true, canCreateRepository: true }
  const request = { org, username: user.username }
  return await of(OrganizationService).getOrganizationPermissions(request, { signal })
}

/** Visibilities of an organisation, with the names of the API. */
export const ORGANIZATION_VISIBILITIES = [
  ['public', t('Public: everybody')],
  ['limited', t('Limited: everybody with an account')],
  ['private', t('Private: members')],
] as const

/** Users, one below the other, each of whom can be removed. */
export function People(props: {
  people: readonly Account[]
  remove: (login: string) => Promise<unknown>
}): VNode {
  const { people, remove } = props
  if (people.length === 0) return <p class="empty">{t('No members.')}</p>
  return (
    <ul class="list">
      {people.map(({ login }) => (
        <li key={login} class="bar">
          <a href={`/${login}`}>{login}</a>
          <ActionButton text={t('Remove')} about={login} act={() => remove(login)} />
        </li>
      ))}
    </ul>
  )
}
