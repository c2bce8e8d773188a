import type { VNode } from 'preact'
import type { Label } from '#gen/branchline/v1/label_pb.ts'

/**
 * The name of a label beside a patch of its colour. The text has the colours of the page, so that the
 * name is readable whatever the colour of the label is.
 */
export function LabelName({ label }: { label: Pick<Label, 'name' | 'color'> }): VNode {
  return (
    <>
      <span
        class="swatch"
        aria-hidden="true"
        style={{ backgroundColor: `#${label.color.replace(/^#/, '')}` }}
      />
      {label.name}
    </>
  )
}
