import type { DescField, Message } from '@bufbuild/protobuf'
import type { Oneof } from './message-fields.ts'
import { fieldsOf } from './message-fields.ts'

/**
 * Returns the value of a field as protobuf-es stores it; undefined for an unset message or oneof
 * member.
 */
export type FieldGetter = (message: Message) => unknown

/** Compiles the getter of a field. */
export function compileGetter(field: DescField): FieldGetter {
  const { localName, oneof } = field
  if (oneof === undefined) return (message) => fieldsOf(message)[localName]
  return (message) => {
    const member = fieldsOf(message)[oneof.localName] as Oneof
    return member.case === localName ? member.value : undefined
  }
}

/** Sets a field. In a oneof, the field replaces the current member. */
export function setField(message: Message, { localName, oneof }: DescField, value: unknown): void {
  if (oneof === undefined) fieldsOf(message)[localName] = value
  else fieldsOf(message)[oneof.localName] = { case: localName, value } satisfies Oneof
}
