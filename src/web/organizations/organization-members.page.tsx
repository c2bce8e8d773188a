import type { VNode } from 'preact'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { OrganizationSettings, organizationSettingsHref, People } from './organization-settings.tsx'

/** The members of an organisation. */
export function OrganizationMembers({ owner, query }: PageProps): VNode {
  return (
    <OrganizationSettings org={owner} page="Members">
      {({ name }) => <Members org={name} page={pageOf(query)} />}
    </OrganizationSettings>
  )
}

function Members({ org, page }: { org: string; page: number }): VNode {
  const service = useApi().of(OrganizationService)
  const list = useLoad(
    (signal) => service.listOrganizationMembers({ org, page }, { signal }),
    [page],
  )
  return (
    <>
      <p>
        <T
          text="Members are the users in the {teams}. Who is removed here leaves all teams."
          teams={<a href={`${organizationSettingsHref(org)}/teams`}>{t('teams')}</a>}
        />
      </p>
      <Show of={list}>
        {({ members, total, limit }) => (
          <>
            <People
              people={members}
              remove={async (username) => {
                await service.removeOrganizationMember({ org, username })
                list.reload()
              }}
            />
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
    </>
  )
}
