import type { JSX, VNode } from 'preact'

/** A field of a form for several lines, with its label. */
export function TextArea(
  props: JSX.IntrinsicElements['textarea'] & { label: string; hint?: string },
): VNode {
  const { label, hint, ...area } = props
  return (
    <label>
      {label}
      <textarea {...area} />
      {hint !== undefined && <span class="hint">{hint}</span>}
    </label>
  )
}
