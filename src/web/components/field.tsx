import type { JSX, SubmitEventHandler, VNode } from 'preact'

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
