import type { VNode } from 'preact'
import type { Label } from '#gen/branchline/v1/label_pb.ts'
import { textColourOn } from './text-colour.ts'

/** The name of a label on its colour. With an address, the name is a link. */
export function LabelTag(props: { label: Pick<Label, 'name' | 'color'>; href?: string }): VNode {
  const { label, href } = props
  const colour = label.color.replace(/^#/, '')
  const look = {
    class: 'tag label',
    style: { backgroundColor: `#${colour}`, color: textColourOn(colour) },
  }
  return href === undefined ? (
    <span {...look}>{label.name}</span>
  ) : (
    <a {...look} href={href}>
      {label.name}
    </a>
  )
}
