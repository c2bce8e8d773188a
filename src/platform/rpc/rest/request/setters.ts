import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { FieldError } from '../../text/field-error.ts'
import { fieldText } from '../../text/field-text.ts'
import type { Fields, Oneof } from '../../text/message-fields.ts'
import { fieldNamed, fieldsOf, isUnwrapped } from '../../text/message-fields.ts'

/** Sets one field of a message from decoded text. Throws FieldError if the text does not fit. */
export type Setter = (message: Message, text: string) => void

/** Whether a value replaces another member of the same oneof or is rejected. */
export type OneofConflict = 'replace' | 'refuse'

/** Stores a value at a field path. Returns false if another member of a oneof rejects it. */
export type Assignment = (message: Message, value: unknown) => boolean

/**
 * Compiles the setter of a path variable. Creates the messages on the path unless the body has set
 * them. A member of a oneof replaces another member. Throws Error at start-up for a path without a
 * field that has a text form.
 *
 * @param protoPath proto names of singular fields, separated by dots.
 * @param isLenient whether text that is not a number counts as 0.
 */
export function compilePathSetter(
  desc: DescMessage,
  protoPath: string,
  isLenient: boolean,
): Setter {
  const path = fieldsAt(desc, protoPath)
  const leaf = path.at(-1)
  const text = leaf && leaf.fieldKind !== 'list' ? fieldText(leaf) : undefined
  if (text === undefined)
    throw new Error(`${desc.typeName} has no field ${protoPath} that text can set`)
  const assign = compileAssignment(path, 'replace')
  const zero = isLenient && text.kind === 'number' ? text.parse('0') : undefined
  return (message, value) => {
    const parsed = text.parse(value) ?? zero
    if (parsed === undefined) throw new FieldError(protoPath, `expected ${text.expected}`)
    assign(message, parsed)
  }
}

/**
 * Returns the fields on a path of proto names. Returns an empty list if an element is unknown or a
 * parent is not a message.
 */
function fieldsAt(desc: DescMessage, protoPath: string): DescField[] {
  const path: DescField[] = []
  let parent: DescMessage | undefined = desc
  for (const name of protoPath.split('.')) {
    const field: DescField | undefined = parent && fieldNamed(parent, name)
    if (field === undefined) return []
    path.push(field)
    parent = field.fieldKind === 'message' ? field.message : undefined
  }
  return valuePath(path)
}

/**
 * Returns the path at which protobuf-es stores a value. For a wrapper, `wrapper.value` is
 * `wrapper`.
 */
export function valuePath(path: DescField[]): DescField[] {
  const parent = path.at(-2)
  return parent !== undefined && isUnwrapped(parent) ? path.slice(0, -1) : path
}

/** Compiles the assignment at a path of singular messages. A list field gets one more element. */
export function compileAssignment(path: readonly DescField[], conflict: OneofConflict): Assignment {
  const parents = path.slice(0, -1).map((field) => compileEnter(field, conflict))
  const assign = compileAssign(path[path.length - 1] as DescField, conflict)
  return (message, value) => {
    let target = fieldsOf(message)
    for (const enter of parents) {
      const child = enter(target)
      if (child === undefined) return false
      target = child
    }
    return assign(target, value)
  }
}

function compileEnter(
  field: DescField,
  conflict: OneofConflict,
): (parent: Fields) => Fields | undefined {
  const desc = field.message as DescMessage
  const { localName } = field
  const oneof = field.oneof?.localName
  if (oneof === undefined) {
    return (parent) => {
      parent[localName] ??= create(desc)
      return parent[localName] as Fields
    }
  }
  return (parent) => {
    const current = parent[oneof] as Oneof
    if (current.case === localName) return current.value as Fields
    if (current.case !== undefined && conflict === 'refuse') return undefined
    const value = fieldsOf(create(desc))
    parent[oneof] = { case: localName, value }
    return value
  }
}

function compileAssign(
  field: DescField,
  conflict: OneofConflict,
): (parent: Fields, value: unknown) => boolean {
  const { localName } = field
  if (field.fieldKind === 'list') {
    return (parent, value) => {
      const list = parent[localName] as unknown[]
      list.push(value)
      return true
    }
  }
  const oneof = field.oneof?.localName
  if (oneof === undefined) {
    return (parent, value) => {
      parent[localName] = value
      return true
    }
  }
  return (parent, value) => {
    const current = (parent[oneof] as Oneof).case
    if (current !== undefined && current !== localName && conflict === 'refuse') return false
    parent[oneof] = { case: localName, value }
    return true
  }
}
