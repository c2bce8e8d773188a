import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { ActionForm } from './action-form.tsx'
import { Field } from './field.tsx'

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
          label={`Type ${name} to confirm`}
          autocapitalize="none"
          autocomplete="off"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </ActionForm>
    </details>
  )
}
