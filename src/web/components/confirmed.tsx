import type { VNode } from 'preact'
import { useCallback, useState } from 'preact/hooks'
import { FailureNote } from './failure-note.tsx'
import { useAction } from './load.tsx'

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
  })
  const focus = useCallback((button: HTMLButtonElement | null) => button?.focus(), [])
  if (!isAsking)
    return (
      <button type="button" class={isSmall ? 'small' : undefined} onClick={() => setAsking(true)}>
        {text}
        {hidden}
      </button>
    )
  return (
    <section class="note" aria-label={`${text} ${about}`}>
      <p>{question}</p>
      {action.failure && <FailureNote failure={action.failure} />}
      <p class="row">
        <button type="button" disabled={action.isRunning} onClick={() => action.run()}>
          Yes, {text.charAt(0).toLowerCase() + text.slice(1)}
          {hidden}
        </button>
        <button type="button" ref={focus} onClick={() => setAsking(false)}>
          No, keep it
        </button>
      </p>
    </section>
  )
}
