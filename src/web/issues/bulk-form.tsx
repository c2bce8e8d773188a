import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Field, fieldOf, onSubmit, Select } from '../components/forms.tsx'
import { FailureNote, useAction } from '../components/load.tsx'
import { plural, t } from '../language/texts.tsx'

const STATES = [
  ['', t('Leave the state')],
  ['closed', t('Close')],
  ['open', t('Open again')],
] as const

interface BulkFormProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly kind: 'issue' | 'pull request'
  readonly onChange: () => void
  readonly isEmpty: boolean
  /** The rows, each with a box of the name `number`. */
  readonly children: ComponentChildren
}

/** The rows of a list, which writers can select. */
export function Selectable(props: BulkFormProps & { readonly isSelectable: boolean }): VNode {
  const { isSelectable, ...form } = props
  return isSelectable ? <BulkForm {...form} /> : <div>{form.children}</div>
}

/** The box that selects a row. */
export function RowBox({ number }: { number: bigint }): VNode {
  return (
    <input
      type="checkbox"
      name="number"
      value={number.toString()}
      aria-label={t('Select #{number}', { number: number.toString() })}
    />
  )
}

/** Changes the issues or pull requests that a writer selects in a list. */
function BulkForm({ name, kind, onChange, isEmpty, children }: BulkFormProps): VNode {
  const { of } = useApi()
  const [selected, setSelected] = useState(0)
  const [outcome, setOutcome] = useState('')
  const [isAll, setAll] = useState(false)
  const count = (boxes: readonly HTMLInputElement[]) => {
    setSelected(boxes.filter(({ checked }) => checked).length)
    setAll(boxes.length > 0 && boxes.every(({ checked }) => checked))
  }
  const selectAll = ({ form, checked }: HTMLInputElement) => {
    const boxes = boxesOf(form)
    for (const box of boxes) box.checked = checked
    count(boxes)
  }
  const change = useAction(async (form: HTMLFormElement) => {
    const { owner, repo } = name
    const { results, changed } = await of(IssueService).batchEditIssues({
      owner,
      repo,
      numbers: numbersOf(form),
      state: fieldOf(form, 'state'),
      addLabels: labelsOf(form, 'addLabel'),
      removeLabels: labelsOf(form, 'removeLabel'),
    })
    const failures = results.filter(({ reason }) => reason !== '')
    const texts = failures.map(({ number, message }) => `#${number}: ${message}`)
    const said = plural(changed, `{count} ${kind} changed.`, `{count} ${kind}s changed.`)
    setOutcome([said, ...texts].join(' '))
    form.reset()
    count([])
    onChange()
  })
  return (
    <form
      class="list-form"
      aria-label={t(`Change several ${kind}s`)}
      onSubmit={onSubmit(change.run)}
      onInput={(event) => count(boxesOf(event.currentTarget))}
    >
      <label class="choice" hidden={isEmpty}>
        <input
          type="checkbox"
          data-all
          checked={isAll}
          onClick={(event) => selectAll(event.currentTarget)}
        />{' '}
        {t('Select all on this page')}
      </label>
      {children}
      <p role="status">{outcome}</p>
      {change.failure && <FailureNote failure={change.failure} />}
      <div class="row" hidden={selected === 0}>
        <Select
          label={t(`State of the selected ${kind}s`)}
          name="state"
          value=""
          options={STATES}
        />
        <Field label={t('Label to add')} name="addLabel" maxLength={255} />
        <Field label={t('Label to remove')} name="removeLabel" maxLength={255} />
        <button type="submit" disabled={change.isRunning}>
          {plural(selected, `Change {count} ${kind}`, `Change {count} ${kind}s`)}
        </button>
      </div>
    </form>
  )
}

/** Returns the boxes of the rows. */
function boxesOf(form: HTMLFormElement | null): HTMLInputElement[] {
  return [...(form?.querySelectorAll<HTMLInputElement>('input[name=number]') ?? [])]
}

function numbersOf(form: HTMLFormElement): bigint[] {
  return new FormData(form).getAll('number').map((number) => BigInt(String(number)))
}

function labelsOf(form: HTMLFormElement, name: string) {
  const value = fieldOf(form, name).trim()
  return value === '' ? [] : [{ kind: { case: 'stringValue' as const, value } }]
}
