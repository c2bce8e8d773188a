import type { VNode } from 'preact'

/** A sentence of a comment. What is between backquotes is code. */
export function Prose({ text }: { text: string }): VNode {
  const parts = text.split('`')
  return <>{parts.map((part, i) => (i % 2 === 1 ? <code key={part}>{part}</code> : part))}</>
}
