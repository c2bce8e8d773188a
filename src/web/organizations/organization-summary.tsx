import type { ComponentChildren, VNode } from 'preact'
import type { Organization } from '#gen/branchline/v1/organization_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Avatar } from '../components/avatar.tsx'
import { Website } from '../components/formats.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { levelText } from '../components/values.ts'
import { plural, t } from '../language/texts.tsx'
import { NewRepository } from '../repositories/repository-list.tsx'
import { organizationRights } from './organization-settings.tsx'

/** The most entries that the API has on one page. */
const LIMIT = 50

interface SummaryProps {
  readonly organization: Organization
  /** The repositories. */
  readonly children: ComponentChildren
}

/** An organisation: the repositories, and the people and teams beside them. */
export function OrganizationSummary({ organization, children }: SummaryProps): VNode {
  const api = useApi()
  const { user } = api.session
  const { name, fullName, description, location, website } = organization
  const rights = useLoad(
    async (signal) => user && (await organizationRights(api, name, signal)),
    [name],
  )
  return (
    <>
      {fullName !== '' && <p>{fullName}</p>}
      {description !== '' && <p>{description}</p>}
      {location !== '' && <p class="facts">{location}</p>}
      <Website url={website} />
      <div class="with-aside">
        <section aria-labelledby="repositories">
          <h2 id="repositories">{t('Repositories')}</h2>
          {rights.value?.canCreateRepository && <NewRepository organization={name} />}
          {children}
        </section>
        <aside aria-label={t('People')}>
          {rights.value?.isOwner && (
            <p>
              <a href={`/-/organizations/${encodeURIComponent(name)}`}>
                {t('Settings of the organisation')}
              </a>
            </p>
          )}
          <Members name={name} />
          {user && <Teams name={name} />}
        </aside>
      </div>
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
      <h2 id="members">{t('Members')}</h2>
      <Show of={list}>
        {({ members, total }) => (
          <>
            {members.length === 0 && <p>{t('No member is public.')}</p>}
            <p class="names">
              {members.map(({ login }) => (
                <a key={login} href={`/${login}`}>
                  <Avatar name={login} /> {login}
                </a>
              ))}
              {total > members.length && (
                <span>
                  {plural(
                    Number(total) - members.length,
                    'and {count} other',
                    'and {count} others',
                  )}
                </span>
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
      <h2 id="teams">{t('Teams')}</h2>
      <Show of={list}>
        {({ teams }) => (
          <>
            {teams.length === 0 && <p>{t('No teams are visible to you.')}</p>}
            <ul>
              {teams.map((team) => (
                <li key={String(team.id)}>
                  {team.name} <span class="tag">{levelText(team.permission)}</span>{' '}
                  {team.description}
                </li>
              ))}
            </ul>
          </>
        )}
      </Show>
    </section>
  )
}
