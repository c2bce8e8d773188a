import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** Tabs that are links. Where they scroll, such as on a phone, the present one is in view. */
export function Tabs({ label, children }: { label: string; children: ComponentChildren }): VNode {
  const list = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const present = list.current?.querySelector<HTMLElement>('[aria-current]')
    if (!list.current || !present) return
    // Not by scrollIntoView(), which would scroll the page too.
    const space = list.current.clientWidth - present.offsetWidth
    list.current.scrollLeft = present.offsetLeft - space / 2
  }, [])
  return (
    <nav ref={list} class="tabs" aria-label={label}>
      {children}
    </nav>
  )
}
