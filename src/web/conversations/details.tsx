import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import { allPages, PAGE, useApi } from '../api/client.ts'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { LabelTag } from '../components/label-tag.tsx'
import { FailureNote, Show, useAction, useLoad } from '../components/load.tsx'
import { Person } from '../components/person.tsx'
import { t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'

/** A fact about a conversation, and what changes the fact. */
export function Detail(props: {
  title: string
  values: readonly VNode[]
  children?: ComponentChildren
}): VNode {
  const { title, values, children } = props
  return (
    <>
      <dt>{title}</dt>
      <dd class="values">
        {values.length === 0 ? t('none @detail') : values}
        {children}
      </dd>
    </>
  )
}

/** Returns people as values of a `Detail`. */
export function peopleOf(accounts: readonly Account[]): VNode[] {
  return accounts.map((account) => (
    <Person key={account.login} login={account.login} account={account} />
  ))
}

/** Returns labels as values of a `Detail`. */
export function tagsOf(labels: Issue['labels']): VNode[] {
  return labels.map((label) => <LabelTag key={String(label.id)} label={label} />)
}

interface ChangeProps {
  readonly name: PullName
  readonly onChange: () => void
}

type LabelsProps = ChangeProps & Pick<Issue, 'labels'>

/** Changes the labels of a conversation. */
export function Labels({ name, labels, onChange }: LabelsProps): VNode {
  const { of } = useApi()
  const { owner, repo } = name
  return (
    <Choices
      what="labels"
      chosen={labels.map((label) => label.name)}
      load={async (signal) => {
        const all = await allPages((page) =>
          of(LabelService)
            .listRepositoryLabels({ owner, repo, page, limit: PAGE }, { signal })
            .then(({ labels: items, total }) => ({ items, total })),
        )
        return all.filter(({ isArchived }) => !isArchived).map((label) => label.name)
      }}
      save={async (chosen) => {
        await of(IssueService).replaceIssueLabels({ ...name, labels: chosen.map(textValue) })
        onChange()
      }}
    />
  )
}

type AssigneesProps = ChangeProps & Pick<Issue, 'assignees'>

/** Changes the assignees of a conversation. */
export function Assignees({ name, assignees, onChange }: AssigneesProps): VNode {
  const { of } = useApi()
  const { owner, repo } = name
  return (
    <Choices
      what="assignees"
      chosen={assignees.map(({ login }) => login)}
      load={async (signal) => {
        const found = await of(CollaboratorService).listAssignees({ owner, repo }, { signal })
        return found.assignees.map(({ login }) => login)
      }}
      save={async (chosen) => {
        const values = chosen.map(textValue)
        await of(IssueService).editIssue({ ...name, assignees: { values } })
        onChange()
      }}
    />
  )
}

/** Returns a text as the API has texts in lists of any values. */
function textValue(value: string) {
  return { kind: { case: 'stringValue', value } } as const
}

interface TextEditorProps extends ChangeProps {
  readonly said: Pick<Issue, 'title' | 'body' | 'contentVersion'>
  readonly onClose: () => void
}

/** Changes the title and the description of a conversation. */
export function TextEditor(props: TextEditorProps): VNode {
  const { of } = useApi()
  const { name, said, onClose, onChange } = props
  // Changes that others make meanwhile are not overwritten unseen.
  const [contentVersion] = useState(said.contentVersion)
  const saving = useAction(async (form: HTMLFormElement) => {
    const [title, body] = [fieldOf(form, 'title'), fieldOf(form, 'body')]
    await of(IssueService).editIssue({ ...name, title, body, contentVersion })
    onClose()
    onChange()
  })
  return (
    <form onSubmit={onSubmit(saving.run)}>
      {saving.failure && <FailureNote failure={saving.failure} />}
      <Field
        label={t('New title')}
        name="title"
        defaultValue={said.title}
        maxLength={255}
        required
      />
      <label>
        {t('New description')}
        <textarea name="body" rows={6} defaultValue={said.body} />
      </label>
      <p class="buttons">
        <button class="main" type="submit" disabled={saving.isRunning}>
          {t('Save title and description')}
        </button>
        <button type="button" onClick={onClose}>
          {t('Cancel')}
        </button>
      </p>
    </form>
  )
}

interface ChoicesProps {
  readonly what: 'labels' | 'assignees' | 'reviewers'
  readonly chosen: readonly string[]
  /** Reads what the user may choose. */
  readonly load: (signal: AbortSignal) => Promise<readonly string[]>
  readonly save: (chosen: readonly string[]) => Promise<unknown>
}

/** A form that chooses several of a list. The list is loaded when the form opens. */
export function Choices(props: ChoicesProps): VNode {
  const { what } = props
  const [isOpen, setOpen] = useState(false)
  if (!isOpen)
    return (
      <button type="button" class="small" onClick={() => setOpen(true)}>
        {t(`Change ${what}`)}
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
              <legend>{t(`Choose ${what}`)}</legend>
              {all.length === 0 && <p>{t('There are none.')}</p>}
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
          {t(`Save ${what}`)}
        </button>
        <button type="button" onClick={onClose}>
          {t('Cancel')}
        </button>
      </p>
    </form>
  )
}
