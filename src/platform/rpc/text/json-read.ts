import type { DescField, DescMessage, JsonValue, Message, Registry } from '@bufbuild/protobuf'
import { create, mergeFromJson, ScalarType } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import { anyPack, hasCustomJsonRepresentation, isWrapperDesc } from '@bufbuild/protobuf/wkt'
import { FieldError } from './field-error.ts'
import { isJsonObjectValue, parseJson } from './json-text.ts'
import { enumReader, scalarReader } from './json-values.ts'
import type { Fields } from './message-fields.ts'
import {
  fieldNamed,
  fieldsByName,
  fieldsOf,
  isJsonObject,
  isUnwrapped,
  MAX_NESTING,
  setEntry,
} from './message-fields.ts'
import { scalarText } from './scalar-text.ts'
import { parseDuration, parseFieldMask, parseTimestamp } from './well-known-text.ts'

/** Reads a body into a new message. Throws FieldError for a body that does not fit. */
export type BodyReader = (bytes: Uint8Array, into: Message) => void

/** Sets the fields of a message from its JSON form. */
type ReadMessage = (message: Message, json: JsonValue, registry: Registry) => void

/** Sets one field of a message from its JSON form. */
type ReadField = (fields: Fields, json: JsonValue, registry: Registry) => void

/** Returns a value, or an element of a list or map, as protobuf-es stores it. */
type ReadElement = (json: JsonValue, registry: Registry) => unknown

/**
 * Compiles the reader of a JSON body in the proto3 JSON mapping. The reader accepts both spellings
 * of names and REST texts of enums, and ignores unknown fields. In contrast, `fromJson` of
 * protobuf-es ignores unknown fields only together with unknown enum names, does not know REST
 * texts, rejects snake_case in field masks, and rounds large 64-bit numbers.
 *
 * @param body `*` for the whole message, or the proto name of a field.
 * @param registry types of messages in google.protobuf.Any.
 */
export function compileBodyReader(desc: DescMessage, body: string, registry: Registry): BodyReader {
  const read = body === '*' ? wholeReader(desc) : bodyFieldReader(desc, body)
  return (bytes, into) => {
    if (bytes.length > 0) read(into, parseJson(bytes), registry)
  }
}

function wholeReader(desc: DescMessage): ReadMessage {
  const read = messageReader(desc)
  const takesNull = desc.typeName === 'google.protobuf.Value'
  return (message, json, registry) => {
    if (json !== null || takesNull) read(message, json, registry)
  }
}

function bodyFieldReader(desc: DescMessage, name: string): ReadMessage {
  const field = fieldNamed(desc, name)
  if (field === undefined) throw new Error(`${desc.typeName} has no field ${name}`)
  const read = fieldReader(field)
  const takesNull = isSetByNull(field)
  return (message, json, registry) => {
    if (json === null && !takesNull) return
    try {
      read(fieldsOf(message), json, registry)
    } catch (error) {
      throw within(name, error)
    }
  }
}

/** Adds the name of a field to the path of an error. */
function within(name: string, error: unknown): unknown {
  return error instanceof FieldError ? error.within(name) : error
}

/** Returns whether `null` is a value of the field. For other fields `null` means unset. */
function isSetByNull(field: DescField): boolean {
  return field.fieldKind !== 'list' && field.fieldKind !== 'map' && hasNull(field)
}

/** Returns whether `null` is a value, or an element, of a field. */
function hasNull(field: DescField): boolean {
  return (
    field.message?.typeName === 'google.protobuf.Value' ||
    field.enum?.typeName === 'google.protobuf.NullValue'
  )
}

const messageReaders = new WeakMap<DescMessage, ReadMessage>()

function messageReader(desc: DescMessage): ReadMessage {
  let reader = messageReaders.get(desc)
  if (reader === undefined) {
    reader = wellKnownReader(desc) ?? fieldsReader(desc)
    messageReaders.set(desc, reader)
  }
  return reader
}

interface Member {
  readonly field: DescField
  readonly takesNull: boolean
  readonly read: ReadField
}

function fieldsReader(desc: DescMessage): ReadMessage {
  const byName = fieldsByName(desc)
  const members = new Map<DescField, Member>()
  // Compiled when first used, because a type may contain itself.
  const memberOf = (field: DescField) => {
    let member = members.get(field)
    if (member === undefined) {
      member = { field, takesNull: isSetByNull(field), read: fieldReader(field) }
      members.set(field, member)
    }
    return member
  }
  return (message, json, registry) => {
    if (!isJsonObjectValue(json)) throw new FieldError('', 'expected an object')
    const fields = fieldsOf(message)
    const seen = new Set<string>()
    for (const [name, value] of Object.entries(json)) {
      const field = byName.get(name)
      if (field === undefined) continue
      try {
        readMember(fields, memberOf(field), value, seen, registry)
      } catch (error) {
        throw within(name, error)
      }
    }
  }
}

/**
 * Reads one member of an object.
 *
 * @param seen the proto names of the fields that are set, and of their oneofs with a prefix.
 */
function readMember(
  fields: Fields,
  member: Member,
  json: JsonValue,
  seen: Set<string>,
  registry: Registry,
): void {
  const { field } = member
  if (seen.has(field.name)) throw new FieldError('', 'set by both of its names')
  seen.add(field.name)
  if (json === null && !member.takesNull) return
  if (field.oneof !== undefined) {
    const oneof = `oneof ${field.oneof.name}`
    if (seen.has(oneof)) throw new FieldError('', `another member of ${oneof} is set`)
    seen.add(oneof)
  }
  member.read(fields, json, registry)
}

function fieldReader(field: DescField): ReadField {
  const read = elementReader(field)
  const { localName } = field
  if (field.fieldKind === 'list') return listReader(localName, nullChecked(field, read))
  if (field.fieldKind === 'map') return mapReader(localName, field.mapKey, nullChecked(field, read))
  const oneof = field.oneof?.localName
  if (oneof === undefined) {
    return (fields, json, registry) => {
      fields[localName] = read(json, registry)
    }
  }
  return (fields, json, registry) => {
    fields[oneof] = { case: localName, value: read(json, registry) }
  }
}

function nullChecked(field: DescField, read: ReadElement): ReadElement {
  if (hasNull(field)) return read
  return (json, registry) => {
    if (json === null) throw new FieldError('', 'expected a value, not null')
    return read(json, registry)
  }
}

function listReader(localName: string, read: ReadElement): ReadField {
  return (fields, json, registry) => {
    if (!Array.isArray(json)) throw new FieldError('', 'expected an array')
    const list = fields[localName] as unknown[]
    for (const [index, element] of json.entries()) {
      try {
        list.push(read(element, registry))
      } catch (error) {
        throw within(`[${index}]`, error)
      }
    }
  }
}

function mapReader(localName: string, keyType: ScalarType, read: ReadElement): ReadField {
  const readKey = mapKeyReader(keyType)
  return (fields, json, registry) => {
    if (!isJsonObjectValue(json)) throw new FieldError('', 'expected an object')
    const map = fields[localName] as Fields
    for (const [name, element] of Object.entries(json)) {
      try {
        const key = readKey(name)
        // `1` and `01` are the same key.
        if (Object.hasOwn(map, key)) throw new FieldError('', 'key used twice')
        setEntry(map, key, read(element, registry))
      } catch (error) {
        throw within(`[${JSON.stringify(name)}]`, error)
      }
    }
  }
}

function mapKeyReader(type: ScalarType): (name: string) => string {
  const { expected, parse } = scalarText(type)
  const isBool = type === ScalarType.BOOL
  return (name) => {
    const key = isBool && name !== 'true' && name !== 'false' ? undefined : parse(name)
    if (key === undefined) throw new FieldError('', `expected ${expected} as a key`)
    return String(key)
  }
}

function elementReader(field: DescField): ReadElement {
  if (field.enum !== undefined) return enumReader(field.enum)
  if (field.message === undefined)
    return scalarReader(field.scalar, field.fieldKind !== 'map' && field.longAsString)
  if (isJsonObject(field)) {
    return (json) => {
      if (!isJsonObjectValue(json)) throw new FieldError('', 'expected an object')
      return json
    }
  }
  const desc = field.message
  if (isUnwrapped(field) && isWrapperDesc(desc)) return scalarReader(desc.fields[0].scalar, false)
  const read = messageReader(desc)
  return (json, registry) => {
    const message = create(desc)
    read(message, json, registry)
    return message
  }
}

function wellKnownReader(desc: DescMessage): ReadMessage | undefined {
  switch (desc.typeName) {
    case 'google.protobuf.Timestamp':
      return textReader('expected an RFC 3339 timestamp', parseTimestamp)
    case 'google.protobuf.Duration':
      return textReader('expected seconds with the suffix s', parseDuration)
    case 'google.protobuf.FieldMask':
      return textReader('expected field paths separated by commas', parseFieldMask)
    case 'google.protobuf.Struct':
      return dynamicReader(desc, 'expected an object', isJsonObjectValue)
    case 'google.protobuf.ListValue':
      return dynamicReader(desc, 'expected an array', Array.isArray)
    case 'google.protobuf.Value':
      return dynamicReader(desc, 'expected a value', () => true)
    case 'google.protobuf.Any':
      return (message, json, registry) => readAny(message as Any, json, registry)
  }
  if (!isWrapperDesc(desc)) return undefined
  const read = scalarReader(desc.fields[0].scalar, false)
  return (message, json) => {
    fieldsOf(message).value = read(json)
  }
}

function textReader(expected: string, parse: (text: string) => object | undefined): ReadMessage {
  return (message, json) => {
    const init = typeof json === 'string' ? parse(json) : undefined
    if (init === undefined) throw new FieldError('', expected)
    Object.assign(message, init)
  }
}

function dynamicReader(
  desc: DescMessage,
  expected: string,
  accepts: (json: JsonValue) => boolean,
): ReadMessage {
  // A value may be nested as deeply as the body. protobuf-es also counts the message itself.
  const options = { recursionLimit: MAX_NESTING + 2 }
  return (message, json) => {
    if (!accepts(json)) throw new FieldError('', expected)
    mergeFromJson(desc, message, json, options)
  }
}

/**
 * Reads an object with the type URL in `@type` and the fields beside it, or `value` for types with
 * their own JSON form.
 */
function readAny(any: Any, json: JsonValue, registry: Registry): void {
  if (!isJsonObjectValue(json)) throw new FieldError('', 'expected an object')
  if (Object.keys(json).length === 0) return
  const url = Object.hasOwn(json, '@type') ? json['@type'] : undefined
  const desc =
    typeof url === 'string' ? registry.getMessage(url.slice(url.lastIndexOf('/') + 1)) : undefined
  if (desc === undefined) throw new FieldError('@type', 'expected the URL of a known type')
  const message = create(desc)
  if (hasCustomJsonRepresentation(desc)) {
    if (!Object.hasOwn(json, 'value')) throw new FieldError('value', 'expected a value')
    try {
      messageReader(desc)(message, json.value as JsonValue, registry)
    } catch (error) {
      throw within('value', error)
    }
  } else {
    // The reader ignores `@type` as an unknown field.
    messageReader(desc)(message, json, registry)
  }
  pack(desc, message, any)
}

function pack(desc: DescMessage, message: Message, any: Any): void {
  try {
    anyPack(desc, message, any)
  } catch {
    // The message lacks a required field of proto2.
    throw new FieldError('', `expected a complete ${desc.typeName}`)
  }
}
