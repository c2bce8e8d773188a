import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton, fieldOf, onSubmit, Select } from '../components/forms.tsx'
import { FailureNote, useAction } from '../components/load.tsx'
import { t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'
import { REASONS } from './issue-state.tsx'
import { ReferenceField, referenceOf } from './references.tsx'

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
    await of(IssueService).editIssue(
      reason === 'duplicate'
        ? { ...name, duplicateOf: original(fieldOf(form, 'duplicateOf')) }
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
        <ActionButton text={t('Open again')} act={open} />
      </p>
    )
  return (
    <form
      class="row"
      aria-label={t('Close the issue')}
      onInput={(event) => setReason(fieldOf(event.currentTarget, 'reason'))}
      onSubmit={onSubmit(closing.run)}
    >
      {closing.failure && <FailureNote failure={closing.failure} />}
      <button type="submit" disabled={closing.isRunning}>
        {t('Close the issue')}
      </button>
      <Select label={t('Reason')} name="reason" value={reason} options={REASONS} isLabelHidden />
      {reason === 'duplicate' && (
        <ReferenceField
          label={t('Number of the other issue, or owner/repository#number')}
          name="duplicateOf"
        />
      )}
    </form>
  )
}

/** Returns the issue that another one repeats as the API takes it. */
function original(text: string) {
  const { owner, repo, index } = referenceOf(text)
  const number = { kind: { case: 'numberValue' as const, value: Number(index) } }
  if (owner === '') return number
  const nameOf = (value: string) => ({ kind: { case: 'stringValue' as const, value } })
  const fields = { index: number, owner: nameOf(owner), repo: nameOf(repo) }
  return { kind: { case: 'structValue' as const, value: { fields } } }
}
