import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LinkBase, SanitisedHtml } from '../text/sanitised.ts'

/** A text in Markdown. Until its script has loaded, the text is plain. */
export function Markup({ text, base }: { text: string; base: LinkBase }): VNode {
  const [html, setHtml] = useState<SanitisedHtml>()
  const { page, raw } = base
  useEffect(() => {
    let isCurrent = true
    import('../text/markdown.ts').then(
      ({ renderMarkdown }) => isCurrent && setHtml(renderMarkdown(text, { page, raw })),
      // The plain text stays.
      () => undefined,
    )
    return () => {
      isCurrent = false
    }
  }, [text, page, raw])
  return html ? (
    <div class="markup" dangerouslySetInnerHTML={html} />
  ) : (
    <div class="markup plain">{text}</div>
  )
}
