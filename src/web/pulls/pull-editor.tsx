import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { useApi } from '../api/client.ts'
import { FailureNote } from '../components/failure-note.tsx'
import { Field, fieldOf, onSubmit } from '../components/field.tsx'
import { useAction } from '../components/load.tsx'
import type { PullName } from './reviews.ts'

interface EditorProps {
  readonly name: PullName
  readonly pull: PullRequest
  readonly onChange: () => void
}

/** The marks of unfinished work that a server knows by default. */
const MARK = /^(wip:|\[wip\])\s*/i

/** Changes the title, the description and the state of a pull request. */
export function PullEditor(props: EditorProps): VNode {
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
