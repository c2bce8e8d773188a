import type { VNode } from 'preact'
import { Field } from '../components/forms.tsx'

/** `owner/repo#5`, `#5` or `5`. */
const REFERENCE = /^(?:(?<owner>[^/\s#]+)\/(?<repo>[^/\s#]+))?#?(?<index>[1-9]\d{0,17})$/

/** An issue or pull request as people write it. The owner and the repository are empty for the own one. */
interface Reference {
  readonly owner: string
  readonly repo: string
  readonly index: bigint
}

/** Returns what a text refers to; the number 0 for no reference. */
export function referenceOf(text: string): Reference {
  const { owner = '', repo = '', index = '0' } = REFERENCE.exec(text.trim())?.groups ?? {}
  return { owner, repo, index: BigInt(index) }
}

/** A field for an issue or pull request of any repository. */
export function ReferenceField({ label, name }: { label: string; name: string }): VNode {
  const pattern = '([^\\s\\/#]+\\/[^\\s\\/#]+)?#?[1-9][0-9]*'
  return <Field label={label} name={name} pattern={pattern} required />
}
