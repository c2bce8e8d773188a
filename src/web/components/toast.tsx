import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { t } from '../language/texts.tsx'
import { Icon } from './icon.tsx'

/** Dispatched on the window with a text for the toast. */
const SAID = 'branchline-said'

/** Time to read the text. The text stays longer while the pointer or the focus is on it. */
const SHOWN_MS = 10_000

/** Tells the user that something has happened whose place on the page is gone, also on the next page. */
export function say(text: string): void {
  dispatchEvent(new CustomEvent(SAID, { detail: text }))
}

/** The latest text of `say`, at the lower edge of all pages. */
export function Toast(): VNode {
  const [text, setText] = useState('')
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    const hear = (event: Event) => {
      if (event instanceof CustomEvent) setText(String(event.detail))
    }
    addEventListener(SAID, hear)
    return () => removeEventListener(SAID, hear)
  }, [])
  useEffect(() => {
    if (text === '' || isHeld) return
    const timer = setTimeout(() => setText(''), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [text, isHeld])
  const close = () => {
    setHeld(false)
    setText('')
  }
  return (
    // Always there, since screen readers read what changes in a region that they know.
    <div
      role="status"
      class={text === '' ? 'hidden' : 'toast'}
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
    >
      {text !== '' && (
        <>
          <Icon name="circle-check" />
          <span>{text}</span>
          <button
            type="button"
            class="plain"
            onFocus={() => setHeld(true)}
            onBlur={() => setHeld(false)}
            onClick={close}
          >
            {t('Close')}
          </button>
        </>
      )}
    </div>
  )
}
