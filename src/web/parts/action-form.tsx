import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { FailureNote } from './failure-note.tsx'
import { onSubmit } from './field.tsx'
import { useAction } from './load.tsx'

/** A form with its failure, its button, and a word about its success. */
export function ActionForm(props: {
  act: (form: HTMLFormElement) => Promise<unknown>
  button: string
  /** What to say afterwards; empty if the page shows the result. */
  done?: string
  /** Whether the form is empty again afterwards. A failure keeps its text. */
  clears?: boolean
  children?: ComponentChildren
}): VNode {
  const { act, button, done = '', clears = false, children } = props
  const [isDone, setDone] = useState(false)
  const action = useAction(async (form: HTMLFormElement) => {
    setDone(false)
    await act(form)
    if (clears) form.reset()
    setDone(true)
  })
  return (
    <form class="narrow" onSubmit={onSubmit(action.run)}>
      {action.failure && <FailureNote failure={action.failure} />}
      {children}
      <button class="main" type="submit" disabled={action.isRunning}>
        {button}
      </button>
      <p role="status">{isDone && done}</p>
    </form>
  )
}
