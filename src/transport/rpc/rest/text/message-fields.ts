import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { isWrapperDesc } from '@bufbuild/protobuf/wkt'
import { isIntegerType } from './scalar-text.ts'

/**
 * A message seen as a record of its members, the way code compiled from a descriptor has to see it.
 */
export type Fields = Record<string, unknown>

/** A oneof as protobuf-es stores it: the local name of the member that is set, and its value. */
export interface Oneof {
  readonly case: string | undefined
  readonly value?: unknown
}

/** Depth limit of messages in bodies and field paths: that of protobuf's own parsers. */
export const MAX_NESTING = 100

/** The members of a message. */
export function fieldsOf(message: Message): Fields {
  return message
}

/** Returns the field with a proto name. */
export function fieldNamed(desc: DescMessage, name: string): DescField | undefined {
  return desc.fields.find((field) => field.name === name)
}

/** Returns whether a field is a singular integer. */
export function isIntegerField(field: DescField): boolean {
  return field.fieldKind === 'scalar' && isIntegerType(field.scalar)
}

const tables = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>()

/**
 * The fields of a message by both of their names; where two fields collide, the JSON name wins over
 * the proto name.
 */
export function fieldsByName(desc: DescMessage): ReadonlyMap<string, DescField> {
  let table = tables.get(desc)
  if (table === undefined) {
    table = new Map([
      ...desc.fields.map((field) => [field.name, field] as const),
      ...desc.fields.map((field) => [field.jsonName, field] as const),
    ])
    tables.set(desc, table)
  }
  return table
}

/**
 * Whether protobuf-es keeps the bare value of a wrapper in the field instead of a message: in
 * singular fields outside of oneofs.
 */
export function isUnwrapped(field: DescField): boolean {
  return field.fieldKind === 'message' && field.oneof === undefined && isWrapperDesc(field.message)
}

/**
 * Whether protobuf-es keeps a google.protobuf.Struct as a JSON object instead of a message: in all
 * fields but one.
 */
export function isJsonObject(field: DescField): boolean {
  return (
    field.message?.typeName === 'google.protobuf.Struct' &&
    field.parent.typeName !== 'google.protobuf.Value'
  )
}

/**
 * Sets an entry of a map. `__proto__` becomes an own property like any other key, where assignment
 * would lose it.
 */
export function setEntry(map: Fields, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true })
  } else {
    map[key] = value
  }
}
