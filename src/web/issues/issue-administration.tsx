import type { VNode } from 'preact'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssuePinService } from '#gen/branchline/v1/issue_pin_service_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { ActionButton, ActionForm, Confirmed, Field, fieldOf } from '../components/forms.tsx'
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
