import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { MilestoneService } from '#gen/branchline/v1/milestone_service_pb.ts'
import { SubscriptionService } from '#gen/branchline/v1/subscription_service_pb.ts'
import { allPages, PAGE, useApi } from '../api/client.ts'
import { ActionButton, Field, fieldOf, onSubmit, Select } from '../components/forms.tsx'
import { FailureNote, Show, useAction, useLoad } from '../components/load.tsx'
import { t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'

interface ChangeProps {
  readonly name: PullName
  readonly issue: Issue
  readonly onChange: () => void
}

/** Changes the milestone of an issue. */
export function ChangeMilestone(props: ChangeProps): VNode {
  const [isOpen, setOpen] = useState(false)
  if (isOpen) return <MilestoneForm {...props} onClose={() => setOpen(false)} />
  return (
    <button type="button" class="small" onClick={() => setOpen(true)}>
      {t('Change milestone')}
    </button>
  )
}

type FormProps = ChangeProps & { onClose: () => void }

function MilestoneForm({ name, issue, onChange, onClose }: FormProps): VNode {
  const { of } = useApi()
  const { owner, repo } = name
  const milestones = useLoad(
    (signal) =>
      allPages((page) =>
        of(MilestoneService)
          .listMilestones({ owner, repo, state: 'open', page, limit: PAGE }, { signal })
          .then(({ milestones: items, total }) => ({ items, total })),
      ),
    [],
  )
  const saving = useAction(async (form: HTMLFormElement) => {
    const milestone = BigInt(fieldOf(form, 'milestone'))
    await of(IssueService).editIssue({ ...name, milestone })
    onClose()
    onChange()
  })
  return (
    <form onSubmit={onSubmit(saving.run)}>
      {saving.failure && <FailureNote failure={saving.failure} />}
      <Show of={milestones}>
        {(open) => {
          const known = open.map(({ id, title }) => [String(id), title] as const)
          const { milestone } = issue
          const present = milestone && !open.some(({ id }) => id === milestone.id)
          return (
            <Select
              label={t('New milestone')}
              name="milestone"
              value={String(milestone?.id ?? 0)}
              options={[
                ['0', t('none @milestone')],
                ...(present ? [[String(milestone.id), milestone.title] as const] : []),
                ...known,
              ]}
            />
          )
        }}
      </Show>
      <FormButtons submit={t('Save milestone')} isRunning={saving.isRunning} onClose={onClose} />
    </form>
  )
}

/** Changes the due date of an issue. */
export function ChangeDueDate(props: ChangeProps): VNode {
  const [isOpen, setOpen] = useState(false)
  if (isOpen) return <DueDateForm {...props} onClose={() => setOpen(false)} />
  return (
    <button type="button" class="small" onClick={() => setOpen(true)}>
      {t('Change due date')}
    </button>
  )
}

function DueDateForm({ name, onChange, onClose }: FormProps): VNode {
  const { of } = useApi()
  const saving = useAction(async (form: HTMLFormElement) => {
    const day = fieldOf(form, 'due')
    // The server takes the end of the day.
    const change = day === '' ? { unsetDueDate: true } : { dueDate: `${day}T12:00:00Z` }
    await of(IssueService).editIssue({ ...name, ...change })
    onClose()
    onChange()
  })
  return (
    <form onSubmit={onSubmit(saving.run)}>
      {saving.failure && <FailureNote failure={saving.failure} />}
      <Field label={t('New due date')} name="due" type="date" hint={t('Empty for none.')} />
      <FormButtons submit={t('Save due date')} isRunning={saving.isRunning} onClose={onClose} />
    </form>
  )
}

function FormButtons(props: { submit: string; isRunning: boolean; onClose: () => void }): VNode {
  const { submit, isRunning, onClose } = props
  return (
    <p class="buttons">
      <button type="submit" disabled={isRunning}>
        {submit}
      </button>
      <button type="button" onClick={onClose}>
        {t('Cancel')}
      </button>
    </p>
  )
}

/** Whether the user is told of what happens in a conversation, and the change of that. */
export function OwnSubscription({ name, login }: { name: PullName; login: string }): VNode {
  const { of } = useApi()
  const state = useLoad(
    (signal) => of(SubscriptionService).checkIssueSubscription(name, { signal }),
    [],
  )
  return (
    <Show of={state}>
      {({ subscribed }) => (
        <ActionButton
          text={t(subscribed ? 'Unsubscribe' : 'Subscribe')}
          act={async () => {
            const request = { ...name, user: login }
            await (subscribed
              ? of(SubscriptionService).deleteIssueSubscription(request)
              : of(SubscriptionService).addIssueSubscription(request))
            state.reload()
          }}
        />
      )}
    </Show>
  )
}
