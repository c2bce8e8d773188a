import { Code, ConnectError } from '@connectrpc/connect'
import type { VNode } from 'preact'
import { ActionForm } from './action-form.tsx'
import { Field, fieldOf } from './field.tsx'

/** A dangerous action, for which the user types the name of what is lost. */
export function TypedName(props: {
  /** What the button does, with the name. */
  label: string
  name: string
  /** What is lost. */
  loss: string
  act: () => Promise<unknown>
}): VNode {
  const { label, name, loss, act } = props
  const run = async (form: HTMLFormElement) => {
    if (fieldOf(form, 'typed') !== name)
      throw new ConnectError('the typed name differs', Code.InvalidArgument)
    await act()
  }
  return (
    <details>
      <summary>{label}</summary>
      <p>{loss}</p>
      <ActionForm act={run} button={label}>
        <Field
          label={`Type ${name} to go on`}
          name="typed"
          autocomplete="off"
          autocapitalize="none"
          required
        />
      </ActionForm>
    </details>
  )
}
