import type { ComponentChildren, VNode } from 'preact'
import type { Organization } from '#gen/branchline/v1/organization_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { useTitle } from '../components/page-title.ts'
import { SignInLink } from '../components/sign-in-link.tsx'
import { organizationRights } from './organization-rights.ts'

const PAGES = [
  ['', 'General'],
  ['/members', 'Members'],
  ['/teams', 'Teams'],
  ['/hooks', 'Webhooks'],
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
  useTitle(`${props.page} · ${props.org}`)
  if (session.user) return <ForUsers {...props} />
  return (
    <>
      <h1>Settings of an organisation</h1>
      <p>
        Settings are for signed-in users: <SignInLink />
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
              <nav class="tabs" aria-label="Settings">
                {PAGES.map(([path, text]) => (
                  <a
                    key={path}
                    href={base + path}
                    aria-current={text === page ? 'page' : undefined}
                  >
                    {text}
                  </a>
                ))}
              </nav>
              <h2>{page}</h2>
              {children(organization, found.reload)}
            </>
          ) : (
            <p>Only owners of the organisation see and change its settings.</p>
          )}
        </>
      )}
    </Show>
  )
}
