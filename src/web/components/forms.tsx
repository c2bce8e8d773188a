import type { ComponentChildren, JSX, SubmitEventHandler, VNode } from 'preact'
import { useCallback, useState } from 'preact/hooks'
import { LANGUAGE, t } from '../language/texts.tsx'
import { Icon } from './icon.tsx'
import { FailureNote, useAction } from './load.tsx'
import { say } from './toast.tsx'

interface ActionFormProps {
  /** The text of the button. */
  readonly submit: string
  readonly act: (form: HTMLFormElement) => Promise<unknown>
  /** The name of the form for screen readers, where a page has several forms. */
  readonly label?: string
  /** Message after success, for a form that stays on the page. */
  readonly done?: string
  /** Whether the fields are emptied after the action. */
  readonly isEmptied?: boolean
  readonly isDisabled?: boolean
  /** Whether the button is beside the fields, not below. */
  readonly isRow?: boolean
  readonly children?: ComponentChildren
}

/** A form that is sent by script. The fields keep their text when the action fails. */
export function ActionForm(props: ActionFormProps): VNode {
  const {
    submit,
    act,
    label,
    done = '',
    isEmptied = false,
    isDisabled = false,
    isRow,
    children,
  } = props
  const [isDone, setDone] = useState(false)
  const action = useAction(async (form: HTMLFormElement) => {
    setDone(false)
    await act(form)
    if (isEmptied) form.reset()
    setDone(true)
  })
  return (
    <form
      class={isRow ? 'row' : undefined}
      aria-label={label}
      onSubmit={onSubmit(action.run)}
      onInput={() => setDone(false)}
    >
      {action.failure && <FailureNote failure={action.failure} />}
      {children}
      <button type="submit" disabled={action.isRunning || isDisabled}>
        {submit}
      </button>{' '}
      <span role="status">{isDone && done}</span>
    </form>
  )
}

interface ActionButtonProps {
  readonly text: string
  /** Subject of the action, for screen readers, where a page has several such buttons. */
  readonly about?: string
  readonly act: () => Promise<unknown>
}

/** A button with an action. A failure appears beside the button. */
export function ActionButton({ text, about, act }: ActionButtonProps): VNode {
  const action = useAction(act)
  return (
    <>
      <button type="button" disabled={action.isRunning} onClick={() => action.run()}>
        {text}
        {about !== undefined && <span class="hidden"> {about}</span>}
      </button>
      {action.failure && <FailureNote failure={action.failure} />}
    </>
  )
}

/** A button for something that cannot be undone. It asks before it acts. */
export function Confirmed(props: {
  /** Text of the button. */
  action: string
  /** Subject of the action, for screen readers, where a page has several such buttons. */
  about?: string
  /** Description of the loss. */
  question: string
  isSmall?: boolean
  act: () => Promise<unknown>
}): VNode {
  const { action: text, about = '', question, isSmall, act } = props
  const hidden = about !== '' && <span class="hidden"> {about}</span>
  const [isAsking, setAsking] = useState(false)
  const action = useAction(async () => {
    await act()
    setAsking(false)
    say(t('Done: {action}', { action: `${text} ${about}` }).trim())
  })
  const open = useCallback((dialog: HTMLDialogElement | null) => dialog?.showModal(), [])
  return (
    <>
      <button type="button" class={isSmall ? 'small' : undefined} onClick={() => setAsking(true)}>
        {text}
        {hidden}
      </button>
      {isAsking && (
        <dialog ref={open} aria-label={`${text} ${about}`} onClose={() => setAsking(false)}>
          <p>{question}</p>
          {action.failure && <FailureNote failure={action.failure} />}
          <p class="buttons">
            <button type="button" disabled={action.isRunning} onClick={() => action.run()}>
              {t('Yes, {action}', { action: inSentence(text) })}
              {hidden}
            </button>
            <button type="button" autofocus onClick={() => setAsking(false)}>
              {t('No, keep it')}
            </button>
          </p>
        </dialog>
      )}
    </>
  )
}

/**
 * Returns the text of a button as a part of a sentence. A German text begins with a noun, or is only a
 * verb.
 */
function inSentence(text: string): string {
  const keepsCapital = LANGUAGE === 'de' && /^\S+ /.test(text) && !GERMAN_SMALL_WORDS.test(text)
  return keepsCapital ? text : text.charAt(0).toLowerCase() + text.slice(1)
}

/** Words other than nouns with which German texts of buttons begin. */
const GERMAN_SMALL_WORDS =
  /^(Alle|Als|Ausstehende[nrs]?|Diese[nrs]?|Neue(re)?[nrs]?|Nicht|Sofort|Wieder) /

/** A dangerous action, which needs the typed name of its object. */
export function ConfirmedForm(props: {
  /** The text of the action, which opens the form and sends the form. */
  action: string
  /** The text that the user has to type. */
  name: string
  act: (form: HTMLFormElement) => Promise<unknown>
  /** Description of the action, and its fields. */
  children: ComponentChildren
}): VNode {
  const { action, name, act, children } = props
  const [typed, setTyped] = useState('')
  return (
    <details class="danger">
      <summary>{action}</summary>
      <ActionForm label={action} submit={action} act={act} isDisabled={typed !== name}>
        {children}
        <Field
          label={t('Type {name} to confirm', { name })}
          autocapitalize="none"
          autocomplete="off"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </ActionForm>
    </details>
  )
}

/** A button that opens the form for something new below the button. */
export function NewForm({
  label,
  onOpen,
  children,
}: {
  label: string
  onOpen?: () => void
  children: ComponentChildren
}): VNode {
  return (
    <details class="narrow new" onToggle={({ currentTarget }) => currentTarget.open && onOpen?.()}>
      <summary>
        <Icon name="plus" /> {label}
      </summary>
      {children}
    </details>
  )
}

/** A field of a form with its label. */
export function Field(
  props: JSX.IntrinsicElements['input'] & { label: string; hint?: string | undefined },
): VNode {
  const { label, hint, ...input } = props
  return (
    <label>
      {label}
      <input {...input} />
      {hint !== undefined && <span class="hint">{hint}</span>}
    </label>
  )
}

/** Returns the text of a field of a form that is sent. */
export function fieldOf(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name)
  return typeof value === 'string' ? value : ''
}

/** Returns a handler that sends a form by script. */
export function onSubmit(
  act: (form: HTMLFormElement) => void,
): SubmitEventHandler<HTMLFormElement> {
  return (event) => {
    event.preventDefault()
    act(event.currentTarget)
  }
}

/** A field of a form for several lines, with its label. */
export function TextArea(
  props: JSX.IntrinsicElements['textarea'] & { label: string; hint?: string },
): VNode {
  const { label, hint, ...area } = props
  return (
    <label>
      {label}
      <textarea {...area} />
      {hint !== undefined && <span class="hint">{hint}</span>}
    </label>
  )
}

/** A box that is checked or not. */
export function Checkbox(props: {
  label: string
  name: string
  isChecked?: boolean
  hint?: string
}): VNode {
  const { label, name, isChecked = false, hint } = props
  return (
    <label class="choice">
      <input type="checkbox" name={name} defaultChecked={isChecked} /> {label}
      {hint !== undefined && <span class="hint"> {hint}</span>}
    </label>
  )
}

/** Returns whether a box of a form that is sent is checked. */
export function isChecked(form: HTMLFormElement, name: string): boolean {
  return fieldOf(form, name) === 'on'
}

/** One of several values. */
export function Select(props: {
  label: string
  name: string
  value: string
  options: readonly (readonly [value: string, text: string])[]
  /** Whether only screen readers need the label, since the place says what the value is. */
  isLabelHidden?: boolean
}): VNode {
  const { label, name, value, options, isLabelHidden = false } = props
  return (
    <label>
      <span class={isLabelHidden ? 'hidden' : undefined}>{label}</span>
      <select name={name} defaultValue={value}>
        {options.map(([option, text]) => (
          <option key={option} value={option} selected={option === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

/** A list as a text with one entry on each line. */
export function Lines(props: {
  label: string
  name: string
  lines: readonly string[]
  hint?: string
}): VNode {
  const { label, name, lines, hint = t('One on each line.') } = props
  return (
    <label>
      {label}
      <textarea name={name} rows={2} defaultValue={lines.join('\n')} />
      <span class="hint">{hint}</span>
    </label>
  )
}

/** Returns the entries of a list of a form that is sent. */
export function linesOf(form: HTMLFormElement, name: string): string[] {
  return fieldOf(form, name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** Returns names as the API takes them where an absent list changes nothing. */
export function listValue(names: readonly string[]) {
  return {
    values: names.map((value) => ({ kind: { case: 'stringValue' as const, value } })),
  }
}
