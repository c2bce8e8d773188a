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
import type { PageProps } from '../routes.ts'
import { Administration } from './administration.tsx'

/** Lines of each table. */
const PAGE_SIZE = 20

/** What owners and repositories have stored, and the limits. For administrators of the instance. */
export function AdministrationStoragePage({ query }: PageProps): VNode {
  return (
    <Administration title="Storage" page="Storage">
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
      <h2 id="usage">Stored bytes, the largest first</h2>
      <Show of={usage}>
        {({ owners, repositories }) => (
          <>
            <h3>Owners</h3>
            <UsageTable of="Owner" lines={owners} />
            <h3>Repositories</h3>
            <UsageTable of="Repository" lines={repositories} />
            <nav class="pager" aria-label="Pages">
              {page > 1 && <a href={`?page=${page - 1}`}>Previous</a>}
              {Math.max(owners.length, repositories.length) === PAGE_SIZE && (
                <a href={`?page=${page + 1}`}>Next</a>
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
            <h2 id="groups">Groups</h2>
            <p>
              A group allows what all of its rules allow. For a user or an organisation with several
              groups, one that allows it is enough.
            </p>
            {groups.map((group) => (
              <Group key={group.name} group={group} rules={rules} reload={list.reload} />
            ))}
            <ActionForm
              label="New group"
              submit="Create the group"
              isEmptied
              act={async (form) => {
                await quotas.adminCreateQuotaGroup({ name: fieldOf(form, 'group') })
                list.reload()
              }}
            >
              <Field label="Name of the group" name="group" required />
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
      <h2 id="rules">Rules</h2>
      <ul class="list">
        {rules.map(({ name = '', limit, subjects }) => (
          <li key={name}>
            <strong>{name}</strong>: {limitText(limit)} for {subjectsText(subjects)}{' '}
            <Confirmed
              action="Delete"
              about={`the rule ${name}`}
              question="The rule goes from all groups."
              isSmall
              act={async () => {
                await quotas.adminDeleteQuotaRule({ rule: name })
                reload()
              }}
            />
          </li>
        ))}
      </ul>
      <ActionForm label="New rule" submit="Create the rule" isEmptied act={create}>
        <Field label="Name of the rule" name="rule" required />
        <Field
          label="Limit"
          name="limit"
          pattern={LIMIT.source}
          required
          hint="Such as 500MiB or 20GiB. 0 forbids new bytes, -1 is no limit."
        />
        <fieldset>
          <legend>The rule limits the sum of</legend>
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
            {rule}: {limitText(limit)} for {subjectsText(subjects)}{' '}
            <ActionButton
              text="Remove"
              about={`the rule ${rule} from ${name}`}
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
              text={`Add ${rule}`}
              about={`to ${name}`}
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
        action="Delete the group"
        about={name}
        question="The limits of the group no longer apply to its members."
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
          <h3>{total.toLocaleString()} members</h3>
          <ul class="list">
            {users.map(({ login }) => (
              <li key={login} class="bar">
                <a href={`/${login}`}>{login}</a>
                <ActionButton
                  text="Remove"
                  about={`${login} from ${group}`}
                  act={async () => {
                    await quotas.adminRemoveQuotaGroupUser({ group, username: login })
                    members.reload()
                  }}
                />
              </li>
            ))}
          </ul>
          <ActionForm
            label={`New member of ${group}`}
            submit="Add"
            isEmptied
            isRow
            act={async (form) => {
              await quotas.adminAddQuotaGroupUser({ group, username: fieldOf(form, 'member') })
              members.reload()
            }}
          >
            <Field label="User or organisation" name="member" required />
          </ActionForm>
        </>
      )}
    </Show>
  )
}
