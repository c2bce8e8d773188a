import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LinkBase } from '../text/sanitised.ts'
import { Fragment } from './fragment.tsx'

/** A text in Markdown. Until its script has loaded, the text is plain. */
export function Markup({ text, base }: { text: string; base: LinkBase }): VNode {
  const [content, setContent] = useState<DocumentFragment>()
  const { page, raw } = base
  useEffect(() => {
    let isCurrent = true
    import('../text/markdown.ts').then(
      ({ renderMarkdown }) => isCurrent && setContent(renderMarkdown(text, { page, raw })),
      // The plain text stays.
      () => undefined,
    )
    return () => {
      isCurrent = false
    }
  }, [text, page, raw])
  return content ? (
    <Fragment of={content} tag="div" />
  ) : (
    <div class="markup plain" aria-busy="true">
      {text}
    </div>
  )
}
