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
import { t } from '../language/texts.tsx'
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
      <h3 id="administration">{t('Administration')}</h3>
      {issue.isLocked ? (
        <p class="buttons">
          <ActionButton text={t('Unlock the conversation')} act={unlock} />
        </p>
      ) : (
        <ActionForm
          label={t('Lock the conversation')}
          submit={t('Lock the conversation')}
          act={async (form) => {
            const lockReason = fieldOf(form, 'lockReason')
            await of(IssueService).lockIssue({ ...name, lockReason })
            onChange()
          }}
          isRow
        >
          <Field
            label={t('Reason')}
            name="lockReason"
            maxLength={255}
            hint={t('Only writers can comment on a locked issue.')}
          />
        </ActionForm>
      )}
      <TransferForm name={name} isPrivate={repository.private} />
      {repository.permissions?.admin && (
        <p class="buttons">
          <ActionButton text={t(isPinned ? 'Unpin' : 'Pin')} act={pin} />{' '}
          <Confirmed
            action={t('Delete the issue')}
            question={t('The issue and all comments are deleted for ever.')}
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
          {t('Transfer the issue…')}
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
    <ActionForm label={t('Transfer the issue')} submit={t('Transfer the issue')} act={transfer}>
      <Field
        label={t('Repository that gets the issue')}
        name="target"
        placeholder={t('owner/repository')}
        pattern="\s*[^\s\/]+\/[^\s\/]+\s*"
        hint={t('The issue gets a new number there. Comments and files move along.')}
        autocapitalize="none"
        autocomplete="off"
        required
      />
      {isPrivate && <Checkbox label={t('Also if that is public')} name="confirmPublic" />}
    </ActionForm>
  )
}
