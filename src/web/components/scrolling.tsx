import type { ComponentChildren, VNode } from 'preact'

/** A region that scrolls by itself. The keyboard has to reach it, or could not scroll it. */
export function Scrolling(props: {
  label: string
  className?: string
  children: ComponentChildren
}): VNode {
  const { label, className = '', children } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: https://dequeuniversity.com/rules/axe/html/4.10/scrollable-region-focusable
    <section class={`scroll ${className}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
