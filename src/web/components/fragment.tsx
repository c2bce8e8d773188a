import type { VNode } from 'preact'
import { useCallback } from 'preact/hooks'

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
