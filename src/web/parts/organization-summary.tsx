import type { VNode } from 'preact'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from './load.tsx'
import { NewRepository } from './new-repository.tsx'
import { findOrganization } from './organization-lookup.ts'
import { organizationRights } from './organization-rights.ts'

/** The most entries that the API has on one page. */
const LIMIT = 50

/** What is known about an organisation; nothing for a user. */
export function OrganizationSummary({ name }: { name: string }): VNode {
  const api = useApi()
  const organization = useLoad((signal) => findOrganization(api, name, signal), [name])
  return (
    <Show of={organization}>
      {(found) =>
        found && (
          <>
            {found.fullName !== '' && <p>{found.fullName}</p>}
            {found.description !== '' && <p>{found.description}</p>}
            {found.location !== '' && <p class="facts">{found.location}</p>}
            {/^https?:/.test(found.website) && (
              <p>
                <a href={found.website} rel="nofollow noopener noreferrer">
                  {found.website}
                </a>
              </p>
            )}
            {api.session.user ? <ForUsers name={found.name} /> : <Members name={found.name} />}
            <h2>Repositories</h2>
          </>
        )
      }
    </Show>
  )
}

/** What signed-in users see, and what the user may do. */
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
                <span>and {(Number(total) - members.length).toLocaleString()} others</span>
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
            {teams.length === 0 && <p>You see no team.</p>}
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
