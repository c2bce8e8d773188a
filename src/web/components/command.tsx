import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../language/texts.tsx'
import { Scrolling } from './page.tsx'

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
          aria-label={t('Copy: {what}', { what: label })}
          onClick={() =>
            navigator.clipboard.writeText(text).then(
              () => setCopied(true),
              () => setCopied(false),
            )
          }
        >
          {isCopied ? t('Copied') : t('Copy')}
        </button>
      )}
    </div>
  )
}

/** Returns a text as one word of a command for a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** A secret that the server cannot show again. */
export function ShownOnce(props: {
  /** Kind of the secret, such as “Token”. */
  name: string
  secret: string
  children?: ComponentChildren
}): VNode {
  const { name, secret, children } = props
  return (
    <div class="note" role="status">
      <p>
        <strong>{t('Store this now: the server does not show it again.')}</strong>
      </p>
      <Command label={name} text={secret} />
      {children}
    </div>
  )
}
