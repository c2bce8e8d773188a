import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton, Field, fieldOf, onSubmit, Select } from '../components/forms.tsx'
import { FailureNote, useAction } from '../components/load.tsx'
import type { PullName } from '../pulls/reviews.ts'
import { REASONS } from './issue-state.tsx'

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
