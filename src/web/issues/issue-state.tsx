import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Issue, IssueLink } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { ActionButton, Field, fieldOf, onSubmit, Select } from '../components/forms.tsx'
import { FailureNote, useAction } from '../components/load.tsx'
import type { PullName } from '../pulls/reviews.ts'

const REASONS = [
  ['completed', 'as completed'],
  ['not_planned', 'as not planned'],
  ['duplicate', 'as a duplicate'],
] as const

/** Whether an issue is open, why it is closed, who opened it, and what it is a part of. */
export function StateLine({ name, issue }: { name: PullName; issue: Issue }): VNode {
  const { state, stateReason, duplicateOf, parent } = issue
  const reason = REASONS.find(([known]) => known === stateReason)?.[1]
  return (
    <p>
      <span class={`tag ${state}`}>{state}</span>
      {reason !== undefined && ` ${reason}`}
      {duplicateOf && (
        <>
          {' '}
          of <LinkedIssue name={name} link={duplicateOf} />
        </>
      )}{' '}
      {issue.user?.login} opened it <Time at={issue.createdAt} />
      {parent && (
        <>
          , a part of <LinkedIssue name={name} link={parent} />
        </>
      )}
    </p>
  )
}

/** A link to an issue, with the repository where that is another one. */
function LinkedIssue({ name, link }: { name: PullName; link: IssueLink }): VNode {
  const { owner = name.owner, name: repo = name.repo } = link.repository ?? {}
  const isHere = owner === name.owner && repo === name.repo
  return (
    <a href={`${repositoryHref({ owner, repo })}/issues/${link.number}`}>
      {isHere ? '' : `${owner}/${repo}`}#{link.number.toString()}
    </a>
  )
}

interface StateFormProps {
  readonly name: PullName
  readonly issue: Issue
  readonly onChange: () => void
}

/** Closes an issue with a reason, or opens it again. */
export function StateForm({ name, issue, onChange }: StateFormProps): VNode {
  const { of } = useApi()
  const [reason, setReason] = useState<string>('completed')
  const closing = useAction(async (form: HTMLFormElement) => {
    const number = Number(fieldOf(form, 'duplicateOf').replace(/^#/, ''))
    await of(IssueService).editIssue(
      reason === 'duplicate'
        ? { ...name, duplicateOf: { kind: { case: 'numberValue', value: number } } }
        : { ...name, state: 'closed', stateReason: reason },
    )
    onChange()
  })
  const open = async () => {
    await of(IssueService).editIssue({ ...name, state: 'open' })
    onChange()
  }
  if (issue.state !== 'open')
    return (
      <p class="buttons">
        <ActionButton text="Open again" act={open} />
      </p>
    )
  return (
    <form
      class="row"
      aria-label="Close the issue"
      onInput={(event) => setReason(fieldOf(event.currentTarget, 'reason'))}
      onSubmit={onSubmit(closing.run)}
    >
      {closing.failure && <FailureNote failure={closing.failure} />}
      <button type="submit" disabled={closing.isRunning}>
        Close the issue
      </button>
      <Select label="Reason" name="reason" value={reason} options={REASONS} isLabelHidden />
      {reason === 'duplicate' && (
        <Field label="Number of the other issue" name="duplicateOf" pattern="#?[0-9]+" required />
      )}
    </form>
  )
}
