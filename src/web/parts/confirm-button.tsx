import type { VNode } from 'preact'
import { useState } from 'preact/hooks'

interface ConfirmProps {
  readonly text: string
  /** The text of the second step, which says what is lost. */
  readonly confirmation: string
  /** What the action is about, for readers who do not see the place of the button. */
  readonly about?: string
  readonly isSmall?: boolean
  readonly isRunning: boolean
  readonly onConfirm: () => void
}

/** A button for an action that cannot be undone. The action needs a second click. */
export function ConfirmButton(props: ConfirmProps): VNode {
  const { text, confirmation, about, isSmall, isRunning, onConfirm } = props
  const [isAsked, setAsked] = useState(false)
  const shown = isAsked ? confirmation : text
  return (
    <button
      type="button"
      class={isSmall ? 'small' : undefined}
      aria-label={about === undefined ? undefined : `${shown}: ${about}`}
      disabled={isRunning}
      onClick={() => (isAsked ? onConfirm() : setAsked(true))}
      onBlur={() => setAsked(false)}
    >
      {shown}
    </button>
  )
}
