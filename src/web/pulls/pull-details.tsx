import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { useApi } from '../api/client.ts'
import { FailureNote, useAction } from '../components/load.tsx'
import {
  Assignees,
  Choices,
  Detail,
  Labels,
  peopleOf,
  TextEditor,
  tagsOf,
} from '../conversations/details.tsx'
import { t } from '../language/texts.tsx'
import type { PullName } from './reviews.ts'

interface DetailsProps {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  readonly onChange: () => void
}

/** Labels, reviewers and assignees of a pull request, and the forms that change them. */
export function PullDetails(props: DetailsProps): VNode {
  const { session } = useApi()
  const { repository, name, pull, onChange } = props
  const { archived, permissions } = repository
  const isWriter = permissions?.push === true && !archived
  const isAuthor = session.user?.username === pull.user?.login && !archived
  const mayEdit = isWriter || isAuthor
  return (
    <section class="box" aria-labelledby="details">
      <h3 id="details">{t('Details')}</h3>
      <dl>
        <Detail title={t('Labels')} values={tagsOf(pull.labels)}>
          {isWriter && <Labels name={name} labels={pull.labels} onChange={onChange} />}
        </Detail>
        <Detail
          title={t('Requested reviewers')}
          values={[
            ...peopleOf(pull.requestedReviewers),
            ...pull.requestedReviewersTeams.map(({ id, name }) => (
              <span key={String(id)} class="tag">
                {name}
              </span>
            )),
          ]}
        >
          {mayEdit && pull.state === 'open' && <Reviewers {...props} />}
        </Detail>
        <Detail title={t('Assignees')} values={peopleOf(pull.assignees)}>
          {isWriter && <Assignees name={name} assignees={pull.assignees} onChange={onChange} />}
        </Detail>
        {pull.milestone && (
          <Detail
            title={t('Milestone')}
            values={[<span key="milestone">{pull.milestone.title}</span>]}
          />
        )}
      </dl>
      {mayEdit && <PullEditor {...props} />}
    </section>
  )
}

function requested({ requestedReviewers }: PullRequest): string[] {
  return requestedReviewers.map(({ login }) => login)
}

function Reviewers({ name, pull, onChange }: DetailsProps): VNode {
  const { of } = useApi()
  const { owner, repo } = name
  const before = requested(pull)
  return (
    <Choices
      what="reviewers"
      chosen={before}
      load={async (signal) => {
        const { reviewers } = await of(CollaboratorService).listReviewers(
          { owner, repo },
          { signal },
        )
        return reviewers.map(({ login }) => login).filter((login) => login !== pull.user?.login)
      }}
      save={async (chosen) => {
        const added = chosen.filter((login) => !before.includes(login))
        const removed = before.filter((login) => !chosen.includes(login))
        if (added.length > 0)
          await of(ReviewService).requestReviewers({ ...name, reviewers: added })
        if (removed.length > 0)
          await of(ReviewService).withdrawReviewRequests({ ...name, reviewers: removed })
        onChange()
      }}
    />
  )
}

interface EditorProps {
  readonly name: PullName
  readonly pull: PullRequest
  readonly onChange: () => void
}

/** The marks of unfinished work that a server knows by default. */
const MARK = /^(wip:|\[wip\])\s*/i

/** Changes the title, the description and the state of a pull request. */
function PullEditor(props: EditorProps): VNode {
  const { of } = useApi()
  const { name, pull, onChange } = props
  const [isOpen, setOpen] = useState(false)
  const change = useAction(async (fields: { title?: string; state?: string }) => {
    await of(PullRequestService).editPullRequest({ ...name, ...fields })
    onChange()
  })
  const canToggle = pull.state === 'open' && (!pull.draft || MARK.test(pull.title))
  const toggled = pull.draft ? pull.title.replace(MARK, '') : `WIP: ${pull.title}`
  if (isOpen)
    return <TextEditor name={name} said={pull} onChange={onChange} onClose={() => setOpen(false)} />
  return (
    <>
      {change.failure && <FailureNote failure={change.failure} />}
      <p class="buttons">
        <button type="button" onClick={() => setOpen(true)}>
          {t('Edit title and description')}
        </button>
        {canToggle && toggled !== '' && (
          <button
            type="button"
            disabled={change.isRunning}
            onClick={() => change.run({ title: toggled })}
          >
            {t(pull.draft ? 'Mark as ready' : 'Mark as work in progress')}
          </button>
        )}
        {!pull.merged && (
          <button
            type="button"
            disabled={change.isRunning}
            onClick={() => change.run({ state: pull.state === 'open' ? 'closed' : 'open' })}
          >
            {t(pull.state === 'open' ? 'Close without a merge' : 'Open again')}
          </button>
        )}
      </p>
    </>
  )
}
