import type { VNode } from 'preact'
import type { Organization } from '#gen/branchline/v1/organization_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { useApi } from '../api/client.ts'
import { counted, Website } from '../components/formats.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { NewRepository } from '../repositories/repository-list.tsx'
import { organizationRights } from './organization-settings.tsx'

/** The most entries that the API has on one page. */
const LIMIT = 50

/** An organisation, as the page shows it. */
export function OrganizationSummary({ organization }: { organization: Organization }): VNode {
  const { session } = useApi()
  const { name, fullName, description, location, website } = organization
  return (
    <>
      {fullName !== '' && <p>{fullName}</p>}
      {description !== '' && <p>{description}</p>}
      {location !== '' && <p class="facts">{location}</p>}
      <Website url={website} />
      {session.user ? <ForUsers name={name} /> : <Members name={name} />}
    </>
  )
}

/** The part for signed-in users, and the rights of the user. */
function ForUsers({ name }: { name: string }): VNode {
  const api = useApi()
  const rights = useLoad((signal) => organizationRights(api, name, signal), [name])
  return (
    <>
      {rights.value?.isOwner && (
        <p>
          <a href={`/-/organizations/${encodeURIComponent(name)}`}>Settings of the organisation</a>
        </p>
      )}
      {rights.value?.canCreateRepository && <NewRepository organization={name} />}
      <Members name={name} />
      <Teams name={name} />
    </>
  )
}

function Members({ name }: { name: string }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) =>
      of(OrganizationService).listOrganizationMembers({ org: name, limit: LIMIT }, { signal }),
    [name],
  )
  return (
    <section aria-labelledby="members">
      <h2 id="members">Members</h2>
      <Show of={list}>
        {({ members, total }) => (
          <>
            {members.length === 0 && <p>No member is public.</p>}
            <p class="names">
              {members.map(({ login }) => (
                <a key={login} href={`/${login}`}>
                  {login}
                </a>
              ))}
              {total > members.length && (
                <span>and {counted(Number(total) - members.length, 'other')}</span>
              )}
            </p>
          </>
        )}
      </Show>
    </section>
  )
}

function Teams({ name }: { name: string }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(TeamService).listOrganizationTeams({ org: name, limit: LIMIT }, { signal }),
    [name],
  )
  return (
    <section aria-labelledby="teams">
      <h2 id="teams">Teams</h2>
      <Show of={list}>
        {({ teams }) => (
          <>
            {teams.length === 0 && <p>No teams are visible to you.</p>}
            <ul>
              {teams.map((team) => (
                <li key={String(team.id)}>
                  {team.name} <span class="tag">{team.permission}</span> {team.description}
                </li>
              ))}
            </ul>
          </>
        )}
      </Show>
    </section>
  )
}
