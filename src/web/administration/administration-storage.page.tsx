import type { VNode } from 'preact'
import { QuotaGroupService } from '#gen/branchline/v1/quota_group_service_pb.ts'
import type { QuotaGroup, QuotaRule } from '#gen/branchline/v1/quota_pb.ts'
import { QuotaService } from '#gen/branchline/v1/quota_service_pb.ts'
import { limitText, QUOTA_SUBJECTS, subjectsText, UsageTable } from '../accounts/storage.tsx'
import { useApi } from '../api/client.ts'
import {
  ActionButton,
  ActionForm,
  Confirmed,
  Field,
  fieldOf,
  isChecked,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { pageOf } from '../components/page.tsx'
import { plural, T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { Administration } from './administration.tsx'

/** Lines of each table. */
const PAGE_SIZE = 20

/** What owners and repositories have stored, and the limits. For administrators of the instance. */
export function AdministrationStoragePage({ query }: PageProps): VNode {
  return (
    <Administration title={t('Storage')} page="/-/admin/storage">
      <Usage page={pageOf(query)} />
      <Quotas />
    </Administration>
  )
}

function Usage({ page }: { page: number }): VNode {
  const { of } = useApi()
  const usage = useLoad(
    (signal) => of(QuotaService).adminListUsage({ page, limit: PAGE_SIZE }, { signal }),
    [page],
  )
  return (
    <section aria-labelledby="usage">
      <h2 id="usage">{t('Stored bytes, the largest first')}</h2>
      <Show of={usage}>
        {({ owners, repositories }) => (
          <>
            <h3>{t('Owners')}</h3>
            <UsageTable of={t('Owner')} lines={owners} />
            <h3>{t('Repositories')}</h3>
            <UsageTable of={t('Repository')} lines={repositories} />
            <nav class="pager" aria-label={t('Pages')}>
              {page > 1 && <a href={`?page=${page - 1}`}>{t('Previous')}</a>}
              {Math.max(owners.length, repositories.length) === PAGE_SIZE && (
                <a href={`?page=${page + 1}`}>{t('Next')}</a>
              )}
            </nav>
          </>
        )}
      </Show>
    </section>
  )
}

function Quotas(): VNode {
  const { of } = useApi()
  const quotas = of(QuotaGroupService)
  const list = useLoad(
    async (signal) => ({
      rules: (await quotas.adminListQuotaRules({}, { signal })).rules,
      groups: (await quotas.adminListQuotaGroups({}, { signal })).groups,
    }),
    [],
  )
  return (
    <Show of={list}>
      {({ rules, groups }) => (
        <>
          <Rules rules={rules} reload={list.reload} />
          <section aria-labelledby="groups">
            <h2 id="groups">{t('Groups')}</h2>
            <p>
              {t(
                'A group allows what all of its rules allow. For a user or an organisation with several groups, one that allows it is enough.',
              )}
            </p>
            {groups.map((group) => (
              <Group key={group.name} group={group} rules={rules} reload={list.reload} />
            ))}
            <ActionForm
              label={t('New group')}
              submit={t('Create the group')}
              isEmptied
              act={async (form) => {
                await quotas.adminCreateQuotaGroup({ name: fieldOf(form, 'group') })
                list.reload()
              }}
            >
              <Field label={t('Name of the group')} name="group" required />
            </ActionForm>
          </section>
        </>
      )}
    </Show>
  )
}

function Rules({ rules, reload }: { rules: readonly QuotaRule[]; reload: () => void }): VNode {
  const { of } = useApi()
  const quotas = of(QuotaGroupService)
  const create = async (form: HTMLFormElement) => {
    await quotas.adminCreateQuotaRule({
      name: fieldOf(form, 'rule'),
      limit: bytesOf(fieldOf(form, 'limit')),
      subjects: QUOTA_SUBJECTS.filter((subject) => isChecked(form, subject)),
    })
    reload()
  }
  return (
    <section aria-labelledby="rules">
      <h2 id="rules">{t('Rules')}</h2>
      <ul class="list">
        {rules.map(({ name = '', limit, subjects }) => (
          <li key={name}>
            <T
              text="{name}: {limit} for {subjects}"
              name={<strong>{name}</strong>}
              limit={limitText(limit)}
              subjects={subjectsText(subjects)}
            />{' '}
            <Confirmed
              action={t('Delete')}
              about={t('the rule {rule}', { rule: name })}
              question={t('The rule goes from all groups.')}
              isSmall
              act={async () => {
                await quotas.adminDeleteQuotaRule({ rule: name })
                reload()
              }}
            />
          </li>
        ))}
      </ul>
      <ActionForm label={t('New rule')} submit={t('Create the rule')} isEmptied act={create}>
        <Field label={t('Name of the rule')} name="rule" required />
        <Field
          label={t('Limit')}
          name="limit"
          pattern={LIMIT.source}
          required
          hint={t('Such as 500MiB or 20GiB. 0 forbids new bytes, -1 is no limit.')}
        />
        <fieldset>
          <legend>{t('The rule limits the sum of')}</legend>
          {QUOTA_SUBJECTS.filter((subject) => subject !== 'none').map((subject) => (
            <label key={subject} class="choice">
              <input type="checkbox" name={subject} /> {subjectsText([subject])}
            </label>
          ))}
        </fieldset>
      </ActionForm>
    </section>
  )
}

const LIMIT = /-1|[0-9]{1,12}([KMGT]iB)?/
const UNITS = ['', 'KiB', 'MiB', 'GiB', 'TiB']

/** Returns the bytes of a text that fits `LIMIT`. */
function bytesOf(text: string): bigint {
  const [, count = '0', unit = ''] = /^(-?\d+)(\w*)$/.exec(text.trim()) ?? []
  return BigInt(count) * 1024n ** BigInt(Math.max(UNITS.indexOf(unit), 0))
}

/** A group with its rules and members. */
function Group(props: {
  group: QuotaGroup
  rules: readonly QuotaRule[]
  reload: () => void
}): VNode {
  const { group, rules, reload } = props
  const { of } = useApi()
  const quotas = of(QuotaGroupService)
  const { name = '' } = group
  const others = rules.filter((rule) => !group.rules.some((own) => own.name === rule.name))
  return (
    <details>
      <summary>{name}</summary>
      <ul class="list">
        {group.rules.map(({ name: rule = '', limit, subjects }) => (
          <li key={rule}>
            {t('{name}: {limit} for {subjects}', {
              name: rule,
              limit: limitText(limit),
              subjects: subjectsText(subjects),
            })}{' '}
            <ActionButton
              text={t('Remove')}
              about={t('the rule {rule} from {group}', { rule, group: name })}
              act={async () => {
                await quotas.adminRemoveQuotaGroupRule({ group: name, rule })
                reload()
              }}
            />
          </li>
        ))}
        {others.map(({ name: rule = '' }) => (
          <li key={rule}>
            <ActionButton
              text={t('Add {rule}', { rule })}
              about={t('to {group}', { group: name })}
              act={async () => {
                await quotas.adminAddQuotaGroupRule({ group: name, rule })
                reload()
              }}
            />
          </li>
        ))}
      </ul>
      <Members group={name} />
      <Confirmed
        action={t('Delete the group')}
        about={name}
        question={t('The limits of the group no longer apply to its members.')}
        act={async () => {
          await quotas.adminDeleteQuotaGroup({ group: name })
          reload()
        }}
      />
    </details>
  )
}

function Members({ group }: { group: string }): VNode {
  const { of } = useApi()
  const quotas = of(QuotaGroupService)
  const members = useLoad(
    (signal) => quotas.adminListQuotaGroupUsers({ group, limit: 50 }, { signal }),
    [group],
  )
  return (
    <Show of={members}>
      {({ users, total }) => (
        <>
          <h3>{plural(total, '{count} member', '{count} members')}</h3>
          <ul class="list">
            {users.map(({ login }) => (
              <li key={login} class="bar">
                <a href={`/${login}`}>{login}</a>
                <ActionButton
                  text={t('Remove')}
                  about={t('{member} from {group}', { member: login, group })}
                  act={async () => {
                    await quotas.adminRemoveQuotaGroupUser({ group, username: login })
                    members.reload()
                  }}
                />
              </li>
            ))}
          </ul>
          <ActionForm
            label={t('New member of {group}', { group })}
            submit={t('Add')}
            isEmptied
            isRow
            act={async (form) => {
              await quotas.adminAddQuotaGroupUser({ group, username: fieldOf(form, 'member') })
              members.reload()
            }}
          >
            <Field label={t('User or organisation')} name="member" required />
          </ActionForm>
        </>
      )}
    </Show>
  )
}
