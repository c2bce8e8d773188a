import type { VNode } from 'preact'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
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
        Members are the users in the <a href={`${organizationSettingsHref(org)}/teams`}>teams</a>.
        Who is removed here leaves all teams.
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
