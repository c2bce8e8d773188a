import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import {
  Assignees,
  Detail,
  Labels,
  peopleOf,
  TextEditor,
  tagsOf,
} from '../conversations/details.tsx'
import { t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'
import { ChangeDueDate, ChangeMilestone, OwnSubscription } from './issue-planning.tsx'

interface DetailsProps {
  readonly repository: Repository
  readonly name: PullName
  readonly issue: Issue
  readonly onChange: () => void
}

/** Labels, assignees, milestone, due date and subscription of an issue, and what changes them. */
export function IssueDetails({ repository, name, issue, onChange }: DetailsProps): VNode {
  const { session } = useApi()
  const [isEdited, setEdited] = useState(false)
  const { archived, permissions } = repository
  const isWriter = permissions?.push === true && !archived
  const change = { name, issue, onChange }
  const isAuthor = session.user !== undefined && session.user.username === issue.user?.login
  return (
    <section class="box" aria-labelledby="details">
      <h3 id="details">{t('Details')}</h3>
      <dl>
        <Detail title={t('Labels')} values={tagsOf(issue.labels)}>
          {isWriter && <Labels name={name} labels={issue.labels} onChange={onChange} />}
        </Detail>
        <Detail title={t('Assignees')} values={peopleOf(issue.assignees)}>
          {isWriter && <Assignees name={name} assignees={issue.assignees} onChange={onChange} />}
        </Detail>
        <Detail
          title={t('Milestone')}
          values={issue.milestone ? [<span key="milestone">{issue.milestone.title}</span>] : []}
        >
          {isWriter && <ChangeMilestone {...change} />}
        </Detail>
        {(issue.dueDate || isWriter) && (
          <Detail
            title={t('Due')}
            values={issue.dueDate ? [<Time key="due" at={issue.dueDate} />] : []}
          >
            {isWriter && <ChangeDueDate {...change} />}
          </Detail>
        )}
      </dl>
      {session.user && (
        <p class="buttons">
          <OwnSubscription name={name} login={session.user.username} />
        </p>
      )}
      {isEdited && (
        <TextEditor name={name} said={issue} onChange={onChange} onClose={() => setEdited(false)} />
      )}
      {!isEdited && (isWriter || (isAuthor && !archived)) && (
        <p class="buttons">
          <button type="button" onClick={() => setEdited(true)}>
            {t('Edit title and description')}
          </button>
        </p>
      )}
    </section>
  )
}
