import type { VNode } from 'preact'
import type { Team } from '#gen/branchline/v1/team_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton, ActionForm } from '../components/action-form.tsx'
import { ConfirmedForm } from '../components/confirmed-form.tsx'
import { Field, fieldOf } from '../components/field.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { People } from '../components/people.tsx'
import { TeamForm } from './team-form.tsx'

/** The most entries that the API has on one page. */
const LIMIT = 50

/** One team: its members, its repositories and its settings. */
export function TeamView(props: { org: string; id: bigint; base: string }): VNode {
  const { of } = useApi()
  const { org, id, base } = props
  const team = useLoad((signal) => of(TeamService).getTeam({ id }, { signal }), [])
  return (
    <>
      <p>
        <a href={base}>All teams</a>
      </p>
      <Show of={team} isPage>
        {(value) => (
          <>
            <h3>{value.name}</h3>
            <Members id={id} />
            {value.includesAllRepositories ? (
              <p>The team has access to all repositories of the organisation.</p>
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
      <h4 id="team-members">Members</h4>
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
        label="Add a member"
        submit="Add the member"
        isRow
        isEmptied
        act={async (form) => {
          await service.addTeamMember({ id, username: fieldOf(form, 'username') })
          list.reload()
        }}
      >
        <Field label="Username" name="username" autocapitalize="none" autocomplete="off" required />
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
      <h4 id="team-repositories">Repositories</h4>
      <Show of={list}>
        {({ repositories }) => (
          <>
            {repositories.length === 0 && <p>No repositories.</p>}
            <ul class="list">
              {repositories.map(({ name, fullName }) => (
                <li key={name} class="bar">
                  <a href={`/${fullName}`}>{name}</a>
                  <ActionButton
                    text="Remove"
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
        label="Add a repository"
        submit="Add the repository"
        isRow
        isEmptied
        act={async (form) => {
          await service.addTeamRepository({ id, org, repo: fieldOf(form, 'repository') })
          list.reload()
        }}
      >
        <Field
          label="Repository of the organisation"
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
      <h4>Settings</h4>
      <TeamForm
        team={team}
        act={async (draft) => {
          await service.editTeam({ id: team.id, ...draft })
          reload()
        }}
      />
      <section class="box" aria-labelledby="danger">
        <h4 id="danger">Danger zone</h4>
        <ConfirmedForm
          action="Delete the team"
          name={team.name}
          act={async () => {
            await service.deleteTeam({ id: team.id })
            goTo(base)
          }}
        >
          <p>Members without another team leave the organisation.</p>
        </ConfirmedForm>
      </section>
    </>
  )
}
