import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssuePinService } from '#gen/branchline/v1/issue_pin_service_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { IssueTransferService } from '#gen/branchline/v1/issue_transfer_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import {
  ActionButton,
  ActionForm,
  Checkbox,
  Confirmed,
  Field,
  fieldOf,
  isChecked,
} from '../components/forms.tsx'
import { goTo } from '../components/navigation.ts'
import type { PullName } from '../pulls/reviews.ts'

interface AdministrationProps {
  readonly repository: Repository
  readonly name: PullName
  readonly issue: Issue
  readonly onChange: () => void
}

/** What writers and administrators of the repository do with an issue as a whole. */
export function IssueAdministration(props: AdministrationProps): VNode {
  const { repository, name, issue, onChange } = props
  const { of } = useApi()
  const then = (act: () => Promise<unknown>) => async () => {
    await act()
    onChange()
  }
  const isPinned = issue.pinOrder > 0
  const pin = then(() =>
    isPinned ? of(IssuePinService).unpinIssue(name) : of(IssuePinService).pinIssue(name),
  )
  const unlock = then(() => of(IssueService).unlockIssue(name))
  const remove = async () => {
    await of(IssueService).deleteIssue(name)
    goTo(`${repositoryHref(name)}/issues`)
  }
  return (
    <section class="box" aria-labelledby="administration">
      <h3 id="administration">Administration</h3>
      {issue.isLocked ? (
        <p class="buttons">
          <ActionButton text="Unlock the conversation" act={unlock} />
        </p>
      ) : (
        <ActionForm
          label="Lock the conversation"
          submit="Lock the conversation"
          act={async (form) => {
            const lockReason = fieldOf(form, 'lockReason')
            await of(IssueService).lockIssue({ ...name, lockReason })
            onChange()
          }}
          isRow
        >
          <Field
            label="Reason"
            name="lockReason"
            maxLength={255}
            hint="Only writers can comment on a locked issue."
          />
        </ActionForm>
      )}
      <TransferForm name={name} isPrivate={repository.private} />
      {repository.permissions?.admin && (
        <p class="buttons">
          <ActionButton text={isPinned ? 'Unpin' : 'Pin'} act={pin} />{' '}
          <Confirmed
            action="Delete the issue"
            question="The issue and all comments are deleted for ever."
            act={remove}
          />
        </p>
      )}
    </section>
  )
}

/** Moves the issue to another repository that the user may write to. */
function TransferForm({ name, isPrivate }: { name: PullName; isPrivate: boolean }): VNode {
  const { of } = useApi()
  const [isOpen, setOpen] = useState(false)
  if (!isOpen)
    return (
      <p class="buttons">
        <button type="button" onClick={() => setOpen(true)}>
          Transfer the issue…
        </button>
      </p>
    )
  const transfer = async (form: HTMLFormElement) => {
    const [owner = '', repo = ''] = fieldOf(form, 'target').trim().split('/')
    const target = { owner, repo, confirmPublic: isChecked(form, 'confirmPublic') }
    const { number } = await of(IssueTransferService).transferIssue({ ...name, target })
    goTo(`${repositoryHref({ owner, repo })}/issues/${number}`)
  }
  return (
    <ActionForm label="Transfer the issue" submit="Transfer the issue" act={transfer}>
      <Field
        label="Repository that gets the issue"
        name="target"
        placeholder="owner/repository"
        pattern="\s*[^\s\/]+\/[^\s\/]+\s*"
        hint="The issue gets a new number there. Comments and files move along."
        autocapitalize="none"
        autocomplete="off"
        required
      />
      {isPrivate && <Checkbox label="Also if that is public" name="confirmPublic" />}
    </ActionForm>
  )
}
