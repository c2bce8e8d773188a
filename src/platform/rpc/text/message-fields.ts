import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { isWrapperDesc } from '@bufbuild/protobuf/wkt'
import { isIntegerType } from './scalar-text.ts'

/** The members of a message by name, for code compiled from a descriptor. */
export type Fields = Record<string, unknown>

/** A oneof as protobuf-es stores it: the local name and the value of the member that is set. */
export interface Oneof {
  readonly case: string | undefined
  readonly value?: unknown
}

/** Depth limit of messages in bodies and field paths, as in the parsers of protobuf. */
export const MAX_NESTING = 100

/** Returns the members of a message. */
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

/** Returns the fields of a message by JSON name and proto name. The JSON name takes precedence. */
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
 * Returns whether protobuf-es stores the bare value of a wrapper instead of a message, as it does
 * in singular fields outside of oneofs.
 */
export function isUnwrapped(field: DescField): boolean {
  return field.fieldKind === 'message' && field.oneof === undefined && isWrapperDesc(field.message)
}

/**
 * Returns whether protobuf-es stores a google.protobuf.Struct as a JSON object instead of a
 * message, as it does in all fields except those of google.protobuf.Value.
 */
export function isJsonObject(field: DescField): boolean {
  return (
    field.message?.typeName === 'google.protobuf.Struct' &&
    field.parent.typeName !== 'google.protobuf.Value'
  )
}

/**
 * Sets an entry of a map. `__proto__` becomes an own property; an assignment would set the
 * prototype.
 */
export function setEntry(map: Fields, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true })
  } else {
    map[key] = value
  }
}

/** How a service writes JSON. */
export interface JsonDialect {
  /** Spelling of member names. */
  readonly names: 'lowerCamel' | 'original'
  /** Form of 64-bit integers. Beyond 2^53-1, `number` writes strings too. */
  readonly int64: 'string' | 'number'
  /** Form of scalars and enums without presence that have their default value. */
  readonly scalars: 'omit' | 'default'
  /** Form of empty lists. */
  readonly lists: 'omit' | 'default' | 'null'
  /** Form of empty maps. */
  readonly maps: 'omit' | 'default' | 'null'
  /** Form of unset messages and unset fields with explicit presence. */
  readonly messages: 'omit' | 'null'
}

/** The JSON mapping of proto3 (https://protobuf.dev/programming-guides/json). */
export const standardJson: JsonDialect = Object.freeze<JsonDialect>({
  names: 'lowerCamel',
  int64: 'string',
  scalars: 'omit',
  lists: 'omit',
  maps: 'omit',
  messages: 'omit',
})
