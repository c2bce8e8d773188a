import type { VNode } from 'preact'
import type { Team } from '#gen/branchline/v1/team_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { useApi } from '../api/client.ts'
import {
  ActionButton,
  ActionForm,
  Checkbox,
  ConfirmedForm,
  Field,
  fieldOf,
  isChecked,
  Select,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf } from '../components/page.tsx'
import { levelText } from '../components/values.ts'
import { t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { OrganizationSettings, organizationSettingsHref, People } from './organization-settings.tsx'

/** The teams of an organisation, the form of a new one, or one team. */
export function OrganizationTeams({ owner, rest, query }: PageProps): VNode {
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
                  <a href={`${base}/${id}`}>{name}</a>{' '}
                  <span class="tag">{levelText(permission)}</span>
                  {description !== '' && <p>{description}</p>}
                </li>
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
      <a href={`${base}/new`}>{t('New team')}</a>
    </>
  )
}

/** The most entries that the API has on one page. */
const LIMIT = 50

/** One team: its members, its repositories and its settings. */
function TeamView(props: { org: string; id: bigint; base: string }): VNode {
  const { of } = useApi()
  const { org, id, base } = props
  const team = useLoad((signal) => of(TeamService).getTeam({ id }, { signal }), [])
  return (
    <>
      <p>
        <a href={base}>{t('All teams')}</a>
      </p>
      <Show of={team} isPage>
        {(value) => (
          <>
            <h3>{value.name}</h3>
            <Members id={id} />
            {value.includesAllRepositories ? (
              <p>{t('The team has access to all repositories of the organisation.')}</p>
            ) : (
              <Repositories org={org} id={id} />
            )}
            {value.permission !== 'owner' && (
              <Settings team={value} base={base} reload={team.reload} />
            )}
          </>
        )}
      </Show>
    </>
  )
}

function Members({ id }: { id: bigint }): VNode {
  const service = useApi().of(TeamService)
  const list = useLoad((signal) => service.listTeamMembers({ id, limit: LIMIT }, { signal }), [])
  return (
    <section aria-labelledby="team-members">
      <h4 id="team-members">{t('Members')}</h4>
      <Show of={list}>
        {({ members }) => (
          <People
            people={members}
            remove={async (username) => {
              await service.removeTeamMember({ id, username })
              list.reload()
            }}
          />
        )}
      </Show>
      <ActionForm
        label={t('Add a member')}
        submit={t('Add the member')}
        isRow
        isEmptied
        act={async (form) => {
          await service.addTeamMember({ id, username: fieldOf(form, 'username') })
          list.reload()
        }}
      >
        <Field
          label={t('Username')}
          name="username"
          autocapitalize="none"
          autocomplete="off"
          required
        />
      </ActionForm>
    </section>
  )
}

function Repositories({ org, id }: { org: string; id: bigint }): VNode {
  const service = useApi().of(TeamService)
  const list = useLoad(
    (signal) => service.listTeamRepositories({ id, limit: LIMIT }, { signal }),
    [],
  )
  return (
    <section aria-labelledby="team-repositories">
      <h4 id="team-repositories">{t('Repositories')}</h4>
      <Show of={list}>
        {({ repositories }) => (
          <>
            {repositories.length === 0 && <p class="empty">{t('No repositories.')}</p>}
            <ul class="list">
              {repositories.map(({ name, fullName }) => (
                <li key={name} class="bar">
                  <a href={`/${fullName}`}>{name}</a>
                  <ActionButton
                    text={t('Remove')}
                    about={name}
                    act={async () => {
                      await service.removeTeamRepository({ id, org, repo: name })
                      list.reload()
                    }}
                  />
                </li>
              ))}
            </ul>
          </>
        )}
      </Show>
      <ActionForm
        label={t('Add a repository')}
        submit={t('Add the repository')}
        isRow
        isEmptied
        act={async (form) => {
          await service.addTeamRepository({ id, org, repo: fieldOf(form, 'repository') })
          list.reload()
        }}
      >
        <Field
          label={t('Repository of the organisation')}
          name="repository"
          autocapitalize="none"
          autocomplete="off"
          required
        />
      </ActionForm>
    </section>
  )
}

function Settings(props: { team: Team; base: string; reload: () => void }): VNode {
  const service = useApi().of(TeamService)
  const { team, base, reload } = props
  return (
    <>
      <h4>{t('Settings')}</h4>
      <TeamForm
        team={team}
        act={async (draft) => {
          await service.editTeam({ id: team.id, ...draft })
          reload()
        }}
      />
      <section class="box" aria-labelledby="danger">
        <h4 id="danger">{t('Danger zone')}</h4>
        <ConfirmedForm
          action={t('Delete the team')}
          name={team.name}
          act={async () => {
            await service.deleteTeam({ id: team.id })
            goTo(base)
          }}
        >
          <p>{t('Members without another team leave the organisation.')}</p>
        </ConfirmedForm>
      </section>
    </>
  )
}

/** The parts of repositories that the server has, of which a team may use all. */
const UNITS = ['repo.code', 'repo.issues', 'repo.pulls', 'repo.releases']

const LEVELS = [
  ['read', t('Read')],
  ['write', t('Write: push and merge')],
  ['admin', t('Administer: change settings too')],
] as const

const VISIBILITIES = [
  ['public', t('Everybody who may see the organisation')],
  ['limited', t('Members of the organisation')],
  ['private', t('Members of the team, and owners')],
] as const

/** Values of the form of a team. */
interface TeamDraft {
  readonly name: string
  readonly description: string
  readonly permission: string
  readonly units: string[]
  readonly includesAllRepositories: boolean
  readonly canCreateOrgRepo: boolean
  readonly visibility: string
}

/** Creates a team, or changes one. */
function TeamForm(props: {
  /** Undefined for a new team. */
  team?: Team
  act: (draft: TeamDraft) => Promise<unknown>
}): VNode {
  const { team, act } = props
  const isNone = team?.permission === 'none'
  return (
    <ActionForm
      label={t('Team')}
      submit={team ? t('Save the team') : t('Create the team')}
      done={t('Saved.')}
      act={(form) => act(readTeam(form, team))}
    >
      <Field
        label={t('Name')}
        name="name"
        autocapitalize="none"
        autocomplete="off"
        maxLength={255}
        required
        defaultValue={team?.name ?? ''}
        hint={t('Letters, digits, hyphens, underscores and dots.')}
      />
      <Field
        label={t('Description (optional)')}
        name="description"
        maxLength={255}
        defaultValue={team?.description ?? ''}
      />
      <Select
        label={t('Access to its repositories')}
        name="level"
        value={team?.permission ?? 'write'}
        options={isNone ? [['none', t('None @access')], ...LEVELS] : LEVELS}
      />
      <Select
        label={t('Who sees the team')}
        name="visibility"
        value={team?.visibility ?? 'limited'}
        options={VISIBILITIES}
      />
      <Checkbox
        label={t('All repositories of the organisation, future ones too')}
        name="all"
        isChecked={team?.includesAllRepositories ?? false}
      />
      <Checkbox
        label={t('Members may create repositories of the organisation')}
        name="create"
        isChecked={team?.canCreateOrgRepo ?? false}
      />
    </ActionForm>
  )
}

function readTeam(form: HTMLFormElement, team: Team | undefined): TeamDraft {
  const permission = fieldOf(form, 'level')
  // A program may have chosen other units and levels. They stay unless the access changes.
  const rights =
    permission === team?.permission ? { permission: '', units: [] } : { permission, units: UNITS }
  return {
    name: fieldOf(form, 'name'),
    description: fieldOf(form, 'description'),
    ...rights,
    includesAllRepositories: isChecked(form, 'all'),
    canCreateOrgRepo: isChecked(form, 'create'),
    visibility: fieldOf(form, 'visibility'),
  }
}
