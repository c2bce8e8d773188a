import type { VNode } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { type Api, useApi } from '../api/client.ts'
import type { LinkBase } from './markdown.ts'
import { type HeldPicture, holdPictures, loadPicture } from './pictures.ts'

/** A text in Markdown. Until its script has loaded, and if it does not load, the text is plain. */
export function Markup({ text, base }: { text: string; base: LinkBase }): VNode {
  const { session } = useApi()
  const [content, setContent] = useState<DocumentFragment>()
  const [isPlain, setPlain] = useState(false)
  const { page, raw } = base
  useEffect(() => {
    const ended = new AbortController()
    const { signal } = ended
    const show = async () => {
      const { renderMarkdown } = await import('./markdown.ts')
      const rendered = renderMarkdown(text, { page, raw })
      // A browser sends no token for a picture, so that those of private repositories would fail.
      const held = holdPictures(rendered, session.user !== undefined)
      if (!signal.aborted) setContent(rendered)
      if (held.length === 0) return
      await showPictures(held, session, signal)
      // A copy, since Preact compares.
      if (!signal.aborted) setContent(copyOf(rendered))
    }
    show().catch(() => {
      if (!signal.aborted) setPlain(true)
    })
    return () => ended.abort()
  }, [text, page, raw, session])
  return content ? (
    <Fragment of={content} tag="div" />
  ) : (
    <div class="markup plain" aria-busy={!isPlain}>
      {text}
    </div>
  )
}

function copyOf(content: DocumentFragment): DocumentFragment {
  const copy = document.createDocumentFragment()
  copy.append(content.cloneNode(true))
  return copy
}

/** Gives pictures what the user may see of them, until the signal. */
async function showPictures(
  held: readonly HeldPicture[],
  session: Api['session'],
  signal: AbortSignal,
): Promise<void> {
  const token = await session.token()
  await Promise.all(
    held.map(async (picture) => {
      const address = await loadPicture(picture, token, signal).catch(() => undefined)
      if (address !== undefined) picture.element.src = address
    }),
  )
}

/** Elements that the sanitiser has made, inside an element of the page. */
export function Fragment(props: { of: DocumentFragment; tag: 'div' | 'code' }): VNode {
  const { of: content, tag } = props
  const fill = useCallback(
    // A copy, since a fragment is empty once it is on the page.
    (place: HTMLElement | null) => place?.replaceChildren(content.cloneNode(true)),
    [content],
  )
  return tag === 'div' ? <div class="markup" ref={fill} /> : <code ref={fill} />
}
