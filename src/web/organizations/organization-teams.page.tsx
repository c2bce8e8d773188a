import type { VNode } from 'preact'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf } from '../components/pager.tsx'
import type { PageProps } from '../routes.ts'
import { OrganizationSettings, organizationSettingsHref } from './organization-settings.tsx'
import { TeamForm } from './team-form.tsx'
import { TeamView } from './team-view.tsx'

/** The teams of an organisation, the form of a new one, or one team. */
export default function OrganizationTeams({ owner, rest, query }: PageProps): VNode {
  const place = rest[0] ?? ''
  return (
    <OrganizationSettings org={owner} page="Teams">
      {({ name }) => {
        const base = `${organizationSettingsHref(name)}/teams`
        if (/^[1-9]\d{0,17}$/.test(place))
          return <TeamView org={name} id={BigInt(place)} base={base} />
        if (place === 'new') return <NewTeam org={name} base={base} />
        return <Teams org={name} base={base} page={pageOf(query)} />
      }}
    </OrganizationSettings>
  )
}

function NewTeam({ org, base }: { org: string; base: string }): VNode {
  const { of } = useApi()
  return (
    <TeamForm
      act={async (draft) => {
        const { id } = await of(TeamService).createTeam({ org, ...draft })
        goTo(`${base}/${id}`)
      }}
    />
  )
}

function Teams({ org, base, page }: { org: string; base: string; page: number }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(TeamService).listOrganizationTeams({ org, page }, { signal }),
    [page],
  )
  return (
    <>
      <Show of={list}>
        {({ teams, total, limit }) => (
          <>
            <ul class="list">
              {teams.map(({ id, name, permission, description }) => (
                <li key={String(id)}>
                  <a href={`${base}/${id}`}>{name}</a> <span class="tag">{permission}</span>
                  {description !== '' && <p>{description}</p>}
                </li>
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
      <a href={`${base}/new`}>New team</a>
    </>
  )
}
