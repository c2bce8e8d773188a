import type { VNode } from 'preact'
import { useCallback, useState } from 'preact/hooks'
import { FailureNote } from './failure-note.tsx'
import { useAction } from './load.tsx'

/** A button for something that cannot be undone. It asks before it acts. */
export function Confirmed(props: {
  /** What the button does, with the name of what it changes. */
  label: string
  /** What is lost. */
  question: string
  act: () => Promise<unknown>
}): VNode {
  const { label, question, act } = props
  const [isAsking, setAsking] = useState(false)
  const action = useAction(async () => {
    await act()
    setAsking(false)
  })
  const focus = useCallback((button: HTMLButtonElement | null) => button?.focus(), [])
  if (!isAsking)
    return (
      <button type="button" onClick={() => setAsking(true)}>
        {label}
      </button>
    )
  return (
    <section class="note" aria-label={label}>
      <p>{question}</p>
      {action.failure && <FailureNote failure={action.failure} />}
      <p class="row">
        <button type="button" disabled={action.isRunning} onClick={() => action.run()}>
          Yes, {label.charAt(0).toLowerCase() + label.slice(1)}
        </button>
        <button type="button" ref={focus} onClick={() => setAsking(false)}>
          No, keep it
        </button>
      </p>
    </section>
  )
}
