import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { allPages, PAGE, useApi } from '../api/client.ts'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { FailureNote, Show, useAction, useLoad } from '../components/load.tsx'
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
  if (isOpen) return <TextEditor {...props} onClose={() => setOpen(false)} />
  return (
    <>
      {change.failure && <FailureNote failure={change.failure} />}
      <p class="buttons">
        <button type="button" onClick={() => setOpen(true)}>
          Edit title and description
        </button>
        {canToggle && toggled !== '' && (
          <button
            type="button"
            disabled={change.isRunning}
            onClick={() => change.run({ title: toggled })}
          >
            {pull.draft ? 'Mark as ready' : 'Mark as work in progress'}
          </button>
        )}
        {!pull.merged && (
          <button
            type="button"
            disabled={change.isRunning}
            onClick={() => change.run({ state: pull.state === 'open' ? 'closed' : 'open' })}
          >
            {pull.state === 'open' ? 'Close without a merge' : 'Open again'}
          </button>
        )}
      </p>
    </>
  )
}

function TextEditor(props: EditorProps & { onClose: () => void }): VNode {
  const { of } = useApi()
  const { name, pull, onClose, onChange } = props
  // Changes that others make meanwhile are not overwritten unseen.
  const [contentVersion] = useState(pull.contentVersion)
  const saving = useAction(async (form: HTMLFormElement) => {
    const [title, body] = [fieldOf(form, 'title'), fieldOf(form, 'body')]
    await of(PullRequestService).editPullRequest({ ...name, title, body, contentVersion })
    onClose()
    onChange()
  })
  return (
    <form onSubmit={onSubmit(saving.run)}>
      {saving.failure && <FailureNote failure={saving.failure} />}
      <Field label="New title" name="title" defaultValue={pull.title} maxLength={255} required />
      <label>
        New description
        <textarea name="body" rows={6} defaultValue={pull.body} />
      </label>
      <p class="buttons">
        <button class="main" type="submit" disabled={saving.isRunning}>
          Save title and description
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}

interface ChoicesProps {
  /** Name of the choices, such as “labels”. */
  readonly what: string
  readonly chosen: readonly string[]
  /** Reads what the user may choose. */
  readonly load: (signal: AbortSignal) => Promise<readonly string[]>
  readonly save: (chosen: readonly string[]) => Promise<unknown>
}

/** A form that chooses several of a list. The list is loaded when the form opens. */
function Choices(props: ChoicesProps): VNode {
  const { what } = props
  const [isOpen, setOpen] = useState(false)
  if (!isOpen)
    return (
      <button type="button" class="small" onClick={() => setOpen(true)}>
        Change {what}
      </button>
    )
  return <ChoicesForm {...props} onClose={() => setOpen(false)} />
}

function ChoicesForm(props: ChoicesProps & { onClose: () => void }): VNode {
  const { what, chosen, load, save, onClose } = props
  const options = useLoad(load, [])
  const saving = useAction(async (form: HTMLFormElement) => {
    await save(new FormData(form).getAll('choice').map(String))
    onClose()
  })
  return (
    <form onSubmit={onSubmit(saving.run)}>
      {saving.failure && <FailureNote failure={saving.failure} />}
      <Show of={options}>
        {(names) => {
          // A chosen name may be missing in the list, such as a label of the organisation.
          const all = [...new Set([...names, ...chosen])]
          return (
            <fieldset>
              <legend>Choose {what}</legend>
              {all.length === 0 && <p>There are none.</p>}
              {all.map((name) => (
                <label key={name} class="choice">
                  <input
                    type="checkbox"
                    name="choice"
                    value={name}
                    defaultChecked={chosen.includes(name)}
                  />{' '}
                  {name}
                </label>
              ))}
            </fieldset>
          )
        }}
      </Show>
      <p class="buttons">
        <button type="submit" disabled={saving.isRunning || options.value === undefined}>
          Save {what}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}
