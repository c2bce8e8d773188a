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
import { t } from '../language/texts.tsx'
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
        {t(
          'A rule names who may create, move and delete the tags that match its pattern. If several rules match a tag, one of them has to name the user.',
        )}
      </p>
      <Show of={loaded}>
        {({ rules, hasTeams }) => {
          const context = { name, hasTeams, reload: loaded.reload }
          return (
            <>
              {rules.length === 0 && <p class="empty">{t('No rules.')}</p>}
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
  const teams = whitelistTeams.map((team) => t('the team {team}', { team }))
  const names = [...whitelistUsernames, ...teams].join(', ')
  return names === '' ? t('for nobody') : t('for {names}', { names })
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
        <summary>{t('Change the rule {name}', { name: namePattern })}</summary>
        <ActionForm
          label={t('Change the rule {name}', { name: namePattern })}
          submit={t('Save the rule')}
          done={t('Saved.')}
          act={save}
        >
          <RuleFields rule={rule} hasTeams={hasTeams} />
        </ActionForm>
      </details>
      <ConfirmedForm
        action={t('Delete the rule {name}', { name: namePattern })}
        name={namePattern}
        act={async () => {
          await of(TagProtectionService).deleteTagProtection({ ...name, id })
          reload()
        }}
      >
        <p>{t('The tags that only this rule matches are not protected afterwards.')}</p>
      </ConfirmedForm>
    </>
  )
}

function NewRule({ name, hasTeams, reload }: RuleContext): VNode {
  const { of } = useApi()
  return (
    <>
      <h3>{t('Add a rule')}</h3>
      <ActionForm
        label={t('Add a rule')}
        submit={t('Create the rule')}
        done={t('The rule is created.')}
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
        label={t('Tags')}
        name="pattern"
        autocapitalize="none"
        autocomplete="off"
        maxLength={255}
        required
        defaultValue={rule?.namePattern ?? ''}
        hint={t(
          'A pattern for the whole name, such as v*, or a regular expression between slashes.',
        )}
      />
      <Lines
        label={t('Users who may change the tags')}
        name="users"
        lines={rule?.whitelistUsernames ?? []}
        hint={t('One on each line.')}
      />
      {hasTeams && (
        <Lines
          label={t('Teams who may change the tags')}
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
