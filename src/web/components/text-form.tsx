import type { ComponentChildren, VNode } from 'preact'
import type { Failure } from '../api/failure.ts'
import { FailureNote } from './failure-note.tsx'
import { onSubmit } from './field.tsx'

interface TextFormProps {
  readonly label: string
  readonly text: string
  readonly submit: string
  readonly isRunning: boolean
  readonly failure: Failure | undefined
  readonly onText: (text: string) => void
  readonly onSend: () => void
  /** More buttons. */
  readonly children?: ComponentChildren
}

/** A form with one text in Markdown. The text stays when sending it fails. */
export function TextForm(props: TextFormProps): VNode {
  const { label, text, submit, isRunning, failure, onText, onSend, children } = props
  return (
    <form onSubmit={onSubmit(onSend)}>
      {failure && <FailureNote failure={failure} />}
      <label>
        {label}
        <textarea
          rows={4}
          required
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </label>
      <p class="buttons">
        <button class="main" type="submit" disabled={isRunning}>
          {submit}
        </button>
        {children}
      </p>
    </form>
  )
}
