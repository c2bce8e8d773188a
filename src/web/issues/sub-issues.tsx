import type { VNode } from 'preact'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { SubIssueService } from '#gen/branchline/v1/sub_issue_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { ActionButton, ActionForm, Field, fieldOf } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { StateTag } from '../components/state-tag.tsx'
import { t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'

interface SubIssuesProps {
  readonly name: PullName
  readonly isWriter: boolean
  /** Grows when something has happened. */
  readonly version: number
}

/** The issues that are parts of an issue, with forms that add, move and remove them. */
export function SubIssues({ name, isWriter, version }: SubIssuesProps): VNode {
  const { of } = useApi()
  const parts = useLoad(
    async (signal) => (await of(SubIssueService).listSubIssues(name, { signal })).issues,
    [version],
  )
  const add = async (form: HTMLFormElement) => {
    const index = BigInt(fieldOf(form, 'index').replace(/^#/, ''))
    await of(SubIssueService).addSubIssue({ ...name, subIssue: { index } })
    parts.reload()
  }
  return (
    <Show of={parts}>
      {(issues) => (
        <section class="box" aria-labelledby="sub-issues" hidden={issues.length === 0 && !isWriter}>
          <h3 id="sub-issues">
            {issues.length > 0
              ? t('Sub-issues ({count} of {all} closed)', {
                  count: closedOf(issues),
                  all: issues.length,
                })
              : t('Sub-issues')}
          </h3>
          {issues.length > 0 && (
            <>
              <progress value={closedOf(issues)} max={issues.length} aria-labelledby="sub-issues" />
              <ol>
                {issues.map((issue, i) => (
                  <Part
                    key={String(issue.id)}
                    name={name}
                    issue={issue}
                    position={i + 1}
                    isWriter={isWriter}
                    onChange={parts.reload}
                  />
                ))}
              </ol>
            </>
          )}
          {isWriter && (
            <ActionForm
              label={t('Add a sub-issue')}
              submit={t('Add the sub-issue')}
              act={add}
              isEmptied
              isRow
            >
              <Field label={t('Number of an issue')} name="index" pattern="#?[0-9]+" required />
            </ActionForm>
          )}
        </section>
      )}
    </Show>
  )
}

function closedOf(issues: readonly Issue[]): number {
  return issues.filter(({ state }) => state === 'closed').length
}

interface PartProps {
  readonly name: PullName
  readonly issue: Issue
  /** From 1. */
  readonly position: number
  readonly isWriter: boolean
  readonly onChange: () => void
}

function Part({ name, issue, position, isWriter, onChange }: PartProps): VNode {
  const { of } = useApi()
  const { owner = name.owner, name: repo = name.repo } = issue.repository ?? {}
  const subIssue = { index: issue.number, owner, repo }
  const about = `#${issue.number}`
  const move = async () => {
    await of(SubIssueService).moveSubIssue({ ...name, position: BigInt(position - 1), subIssue })
    onChange()
  }
  const remove = async () => {
    await of(SubIssueService).removeSubIssue({ ...name, subIssue })
    onChange()
  }
  return (
    <li>
      <StateTag state={issue.state} />{' '}
      <a href={`${repositoryHref({ owner, repo })}/issues/${issue.number}`}>
        {issue.title} #{issue.number.toString()}
      </a>{' '}
      {isWriter && position > 1 && <ActionButton text={t('Move up')} about={about} act={move} />}{' '}
      {isWriter && <ActionButton text={t('Remove')} about={about} act={remove} />}
    </li>
  )
}
