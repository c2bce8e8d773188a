import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Scrolling } from './scrolling.tsx'

/** A command to copy. */
export function Command({ text, label }: { text: string; label: string }): VNode {
  const [isCopied, setCopied] = useState(false)
  // Browsers offer the clipboard over HTTPS and on the machine itself.
  const canCopy = 'clipboard' in navigator
  return (
    <div class="command">
      <Scrolling label={label}>
        <pre>{text}</pre>
      </Scrolling>
      {canCopy && (
        <button
          type="button"
          aria-label={`Copy: ${label}`}
          onClick={() =>
            navigator.clipboard.writeText(text).then(
              () => setCopied(true),
              () => setCopied(false),
            )
          }
        >
          {isCopied ? 'Copied' : 'Copy'}
        </button>
      )}
    </div>
  )
}
