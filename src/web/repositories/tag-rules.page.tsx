import type { VNode } from 'preact'
import type { TagProtection } from '#gen/branchline/v1/tag_protection_pb.ts'
import { TagProtectionService } from '#gen/branchline/v1/tag_protection_service_pb.ts'
import { isOrganization } from '../accounts/account.tsx'
import { useApi } from '../api/client.ts'
import {
  ActionForm,
  ConfirmedForm,
  Field,
  fieldOf,
  Lines,
  linesOf,
  listValue,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import type { PageProps } from '../routes.ts'
import { RepositorySettings } from './repository-settings.tsx'

/** The tag protection rules of a repository. */
export function TagRulesPage({ owner, repo }: PageProps): VNode {
  return (
    <RepositorySettings owner={owner} repo={repo} page="Tag rules">
      {({ archived }) => <TagRules name={{ owner, repo }} isFrozen={archived} />}
    </RepositorySettings>
  )
}

interface RuleContext {
  readonly name: { readonly owner: string; readonly repo: string }
  /** Whether the owner is an organisation. */
  readonly hasTeams: boolean
  readonly reload: () => void
}

function TagRules({ name, isFrozen }: Pick<RuleContext, 'name'> & { isFrozen: boolean }): VNode {
  const api = useApi()
  const { owner, repo } = name
  const loaded = useLoad(
    async (signal) => {
      const [{ tagProtections }, hasTeams] = await Promise.all([
        api.of(TagProtectionService).listTagProtections(name, { signal }),
        isOrganization(api, owner, signal),
      ])
      return { rules: tagProtections, hasTeams }
    },
    [owner, repo],
  )
  return (
    <>
      <p>
        A rule names who may create, move and delete the tags that match its pattern. If several
        rules match a tag, one of them has to name the user.
      </p>
      <Show of={loaded}>
        {({ rules, hasTeams }) => {
          const context = { name, hasTeams, reload: loaded.reload }
          return (
            <>
              {rules.length === 0 && <p class="empty">No rules.</p>}
              <ul class="list">
                {rules.map((rule) => (
                  <li key={String(rule.id)}>
                    <code>{rule.namePattern}</code>
                    <p class="facts">{exemptionsOf(rule)}</p>
                    {!isFrozen && <RuleActions rule={rule} {...context} />}
                  </li>
                ))}
              </ul>
              {!isFrozen && <NewRule {...context} />}
            </>
          )
        }}
      </Show>
    </>
  )
}

/** Returns whom a rule exempts, in words. */
function exemptionsOf({ whitelistUsernames, whitelistTeams }: TagProtection): string {
  const teams = whitelistTeams.map((team) => `the team ${team}`)
  const names = [...whitelistUsernames, ...teams].join(', ')
  return names === '' ? 'for nobody' : `for ${names}`
}

function RuleActions(props: RuleContext & { rule: TagProtection }): VNode {
  const { of } = useApi()
  const { rule, name, hasTeams, reload } = props
  const { id, namePattern } = rule
  const save = async (form: HTMLFormElement) => {
    const draft = readRule(form)
    await of(TagProtectionService).editTagProtection({
      ...name,
      id,
      namePattern: draft.namePattern,
      whitelistUsernames: listValue(draft.whitelistUsernames),
      whitelistTeams: listValue(draft.whitelistTeams),
    })
    reload()
  }
  return (
    <>
      <details>
        <summary>Change the rule {namePattern}</summary>
        <ActionForm
          label={`Change the rule ${namePattern}`}
          submit="Save the rule"
          done="Saved."
          act={save}
        >
          <RuleFields rule={rule} hasTeams={hasTeams} />
        </ActionForm>
      </details>
      <ConfirmedForm
        action={`Delete the rule ${namePattern}`}
        name={namePattern}
        act={async () => {
          await of(TagProtectionService).deleteTagProtection({ ...name, id })
          reload()
        }}
      >
        <p>The tags that only this rule matches are not protected afterwards.</p>
      </ConfirmedForm>
    </>
  )
}

function NewRule({ name, hasTeams, reload }: RuleContext): VNode {
  const { of } = useApi()
  return (
    <>
      <h3>Add a rule</h3>
      <ActionForm
        label="Add a rule"
        submit="Create the rule"
        done="The rule is created."
        isEmptied
        act={async (form) => {
          await of(TagProtectionService).createTagProtection({ ...name, ...readRule(form) })
          reload()
        }}
      >
        <RuleFields hasTeams={hasTeams} />
      </ActionForm>
    </>
  )
}

function RuleFields(props: { rule?: TagProtection; hasTeams: boolean }): VNode {
  const { rule, hasTeams } = props
  return (
    <>
      <Field
        label="Tags"
        name="pattern"
        autocapitalize="none"
        autocomplete="off"
        maxLength={255}
        required
        defaultValue={rule?.namePattern ?? ''}
        hint="A pattern for the whole name, such as v*, or a regular expression between slashes."
      />
      <Lines
        label="Users who may change the tags"
        name="users"
        lines={rule?.whitelistUsernames ?? []}
        hint="One on each line."
      />
      {hasTeams && (
        <Lines
          label="Teams who may change the tags"
          name="teams"
          lines={rule?.whitelistTeams ?? []}
        />
      )}
    </>
  )
}

function readRule(form: HTMLFormElement) {
  return {
    namePattern: fieldOf(form, 'pattern'),
    whitelistUsernames: linesOf(form, 'users'),
    whitelistTeams: linesOf(form, 'teams'),
  }
}
