import type { VNode } from 'preact'
import type { Team } from '#gen/branchline/v1/team_pb.ts'
import { ActionForm } from '../components/action-form.tsx'
import { Checkbox, isChecked, Select } from '../components/choices.tsx'
import { Field, fieldOf } from '../components/field.tsx'

/** The parts of repositories that the server has, of which a team may use all. */
const UNITS = ['repo.code', 'repo.issues', 'repo.pulls', 'repo.releases']

const LEVELS = [
  ['read', 'Read'],
  ['write', 'Write: push and merge'],
  ['admin', 'Administer: change settings too'],
] as const

const VISIBILITIES = [
  ['public', 'Everybody who may see the organisation'],
  ['limited', 'Members of the organisation'],
  ['private', 'Members of the team, and owners'],
] as const

/** Values of the form of a team. */
export interface TeamDraft {
  readonly name: string
  readonly description: string
  readonly permission: string
  readonly units: string[]
  readonly includesAllRepositories: boolean
  readonly canCreateOrgRepo: boolean
  readonly visibility: string
}

/** Creates a team, or changes one. */
export function TeamForm(props: {
  /** Undefined for a new team. */
  team?: Team
  act: (draft: TeamDraft) => Promise<unknown>
}): VNode {
  const { team, act } = props
  const isNone = team?.permission === 'none'
  return (
    <ActionForm
      label="Team"
      submit={team ? 'Save the team' : 'Create the team'}
      done="Saved."
      act={(form) => act(readTeam(form, team))}
    >
      <Field
        label="Name"
        name="name"
        autocapitalize="none"
        autocomplete="off"
        maxLength={255}
        required
        defaultValue={team?.name ?? ''}
        hint="Letters, digits, hyphens, underscores and dots."
      />
      <Field
        label="Description (optional)"
        name="description"
        maxLength={255}
        defaultValue={team?.description ?? ''}
      />
      <Select
        label="Access to its repositories"
        name="level"
        value={team?.permission ?? 'write'}
        options={isNone ? [['none', 'None'], ...LEVELS] : LEVELS}
      />
      <Select
        label="Who sees the team"
        name="visibility"
        value={team?.visibility ?? 'limited'}
        options={VISIBILITIES}
      />
      <Checkbox
        label="All repositories of the organisation, future ones too"
        name="all"
        isChecked={team?.includesAllRepositories ?? false}
      />
      <Checkbox
        label="Members may create repositories of the organisation"
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
