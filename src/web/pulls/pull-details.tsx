import type { ComponentChildren, VNode } from 'preact'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { allPages, PAGE } from '../api/all-pages.ts'
import { useApi } from '../api/client.ts'
import { Choices } from '../components/chosen-names.tsx'
import { PullEditor } from './pull-editor.tsx'
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
  const { repository, pull } = props
  const { archived, permissions } = repository
  const isWriter = permissions?.push === true && !archived
  const isAuthor = session.user?.username === pull.user?.login && !archived
  const mayEdit = isWriter || isAuthor
  return (
    <section class="box" aria-labelledby="details">
      <h3 id="details">Details</h3>
      <dl>
        <Detail title="Labels" values={pull.labels.map(({ name }) => name)}>
          {isWriter && <Labels {...props} />}
        </Detail>
        <Detail
          title="Requested reviewers"
          values={[...requested(pull), ...pull.requestedReviewersTeams.map(({ name }) => name)]}
        >
          {mayEdit && pull.state === 'open' && <Reviewers {...props} />}
        </Detail>
        <Detail title="Assignees" values={pull.assignees.map(({ login }) => login)}>
          {isWriter && <Assignees {...props} />}
        </Detail>
      </dl>
      {mayEdit && <PullEditor {...props} />}
    </section>
  )
}

function Detail(props: {
  title: string
  values: readonly string[]
  children: ComponentChildren
}): VNode {
  const { title, values, children } = props
  return (
    <>
      <dt>{title}</dt>
      <dd>
        {values.length === 0
          ? 'none '
          : values.map((value) => (
              <span key={value} class="tag">
                {value}
              </span>
            ))}
        {children}
      </dd>
    </>
  )
}

function requested({ requestedReviewers }: PullRequest): string[] {
  return requestedReviewers.map(({ login }) => login)
}

function Labels({ name, pull, onChange }: DetailsProps): VNode {
  const { of } = useApi()
  const { owner, repo } = name
  return (
    <Choices
      what="labels"
      chosen={pull.labels.map((label) => label.name)}
      load={async (signal) => {
        const labels = await allPages((page) =>
          of(LabelService)
            .listRepositoryLabels({ owner, repo, page, limit: PAGE }, { signal })
            .then(({ labels: items, total }) => ({ items, total })),
        )
        return labels.filter(({ isArchived }) => !isArchived).map((label) => label.name)
      }}
      save={async (chosen) => {
        await of(IssueService).replaceIssueLabels({ ...name, labels: chosen.map(textValue) })
        onChange()
      }}
    />
  )
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

function Assignees({ name, pull, onChange }: DetailsProps): VNode {
  const { of } = useApi()
  const { owner, repo } = name
  return (
    <Choices
      what="assignees"
      chosen={pull.assignees.map(({ login }) => login)}
      load={async (signal) => {
        const { assignees } = await of(CollaboratorService).listAssignees(
          { owner, repo },
          { signal },
        )
        return assignees.map(({ login }) => login)
      }}
      save={async (chosen) => {
        const assignees = { values: chosen.map(textValue) }
        await of(PullRequestService).editPullRequest({ ...name, assignees })
        onChange()
      }}
    />
  )
}

/** Returns a text as the API has texts in lists of any values. */
function textValue(value: string) {
  return { kind: { case: 'stringValue', value } } as const
}
