import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { FailureNote } from './failure-note.tsx'
import { onSubmit } from './field.tsx'
import { useAction } from './load.tsx'

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
