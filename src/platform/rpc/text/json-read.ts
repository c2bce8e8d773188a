import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  mergeFromJson,
  type Registry,
  ScalarType,
} from '@bufbuild/protobuf'
import {
  type Any,
  anyPack,
  hasCustomJsonRepresentation,
  isWrapperDesc,
} from '@bufbuild/protobuf/wkt'
import { FieldError } from './field-error.ts'
import {
  type Fields,
  fieldNamed,
  fieldsByName,
  fieldsOf,
  isJsonObject,
  isUnwrapped,
  MAX_NESTING,
  setEntry,
} from './message-fields.ts'
import { enumNumbers, isEnumNumber, isInt64, isJsonNumber, scalarText } from './scalar-text.ts'
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

// Keeps a byte order mark, which JSON.parse then rejects (RFC 8259 section 8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses one JSON value in UTF-8. Like the parsers of protobuf, it accepts I-JSON only (RFC 7493):
 * no duplicate member names in an object, no unpaired surrogates, and no number beyond the range of
 * a double. Throws FieldError without a field for any other text, and for nesting deeper than
 * `MAX_NESTING`.
 */
export function parseJson(bytes: Uint8Array): JsonValue {
  const text = decode(bytes)
  const memberCount = scan(text)
  const value = parse(text)
  // JSON.parse keeps the last of several members with one name. The value then has fewer members
  // than the text has colons.
  if (check(value, text.includes('\\u')) !== memberCount)
    throw new FieldError('', 'JSON with a member name used twice')
  return value
}

/** Returns whether a JSON value is an object and not an array. */
export function isJsonObjectValue(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new FieldError('', 'the body is not UTF-8')
  }
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch {
    // The error of JSON.parse quotes the body, which must not appear in the log.
    throw new FieldError('', 'the body is not one JSON value')
  }
}

/**
 * Counts the members of all objects by their colons and throws for nesting that is too deep. Up to
 * the first syntax error the function sees the same strings as the parser. The rest does not
 * matter.
 */
function scan(text: string): number {
  let depth = 0
  let members = 0
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"':
        i = endOfString(text, i)
        break
      case '{':
      case '[':
        depth += 1
        if (depth > MAX_NESTING) throw new FieldError('', `JSON nested deeper than ${MAX_NESTING}`)
        break
      case '}':
      case ']':
        depth -= 1
        break
      case ':':
        members += 1
        break
    }
  }
  return members
}

/**
 * Returns the index of the quotation mark that ends a string: the next one after an even number of
 * backslashes.
 */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text[first - 1] === '\\') first -= 1
    if ((end - first) % 2 === 0) return end
  }
  return text.length
}

/** Throws for a value that I-JSON does not allow. Returns the number of members of all objects. */
function check(value: JsonValue, hasEscapes: boolean): number {
  if (typeof value === 'string') {
    checkString(value, hasEscapes)
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new FieldError('', 'JSON with a number that is out of range')
  } else if (Array.isArray(value)) {
    let members = 0
    for (const element of value) members += check(element, hasEscapes)
    return members
  } else if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value)
    let members = entries.length
    for (const [name, member] of entries) {
      checkString(name, hasEscapes)
      members += check(member, hasEscapes)
    }
    return members
  }
  return 0
}

/** Text that was UTF-8 can only contain an unpaired surrogate as an escape. */
function checkString(text: string, hasEscapes: boolean): void {
  if (hasEscapes && /\p{Surrogate}/u.test(text))
    throw new FieldError('', 'JSON with an unpaired surrogate')
}

/** Returns a JSON value as protobuf-es stores it. Throws FieldError without a field. */
type ReadValue = (json: JsonValue) => unknown

/**
 * Returns the reader of a scalar in the proto3 JSON mapping.
 *
 * @param longAsString whether 64-bit integers become decimal strings.
 */
function scalarReader(type: ScalarType, longAsString: boolean): ReadValue {
  switch (type) {
    case ScalarType.STRING:
      return (json) => (typeof json === 'string' ? json : refuse('expected a string'))
    case ScalarType.BOOL:
      return (json) => (typeof json === 'boolean' ? json : refuse('expected true or false'))
    case ScalarType.BYTES: {
      const { parse } = scalarText(type)
      return (json) =>
        (typeof json === 'string' ? parse(json) : undefined) ?? refuse('expected base64')
    }
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return floatingReader(type)
    default: {
      const read = integerReader(type)
      return longAsString && isInt64(type) ? (json) => String(read(json)) : read
    }
  }
}

function floatingReader(type: ScalarType): ReadValue {
  const { expected, parse } = scalarText(type)
  return (json) => {
    // Returns the number itself, because its text has lost the sign of zero.
    if (typeof json === 'number' && parse(String(json)) !== undefined) return json
    const value = typeof json === 'string' ? parse(json) : undefined
    return value ?? refuse(`expected ${expected}`)
  }
}

/**
 * Returns the reader of an integer. A fraction of zero and an exponent are valid, quoted or not:
 * `1e3`, `"1.0"`.
 */
function integerReader(type: ScalarType): ReadValue {
  const { expected, parse } = scalarText(type)
  const fromNumber = (number: number) =>
    Number.isSafeInteger(number) ? parse(String(number)) : undefined
  return (json) => {
    let value: unknown
    if (typeof json === 'string')
      value = parse(json) ?? (isJsonNumber(json) ? fromNumber(Number(json)) : undefined)
    if (typeof json === 'number') {
      // JSON.parse has lost digits of a number beyond 2^53-1, so the value may be wrong.
      if (isInt64(type) && Math.abs(json) > Number.MAX_SAFE_INTEGER)
        refuse('expected a string for numbers beyond 2^53-1')
      value = fromNumber(json)
    }
    return value ?? refuse(`expected ${expected}`)
  }
}

/**
 * Returns the reader of an enum by name, REST text or number. `null` is the value of
 * google.protobuf.NullValue.
 */
function enumReader(desc: DescEnum): ReadValue {
  const numbers = enumNumbers(desc)
  const isNullValue = desc.typeName === 'google.protobuf.NullValue'
  return (json) => {
    let number: number | undefined
    if (typeof json === 'string') number = numbers.get(json)
    if (typeof json === 'number') number = json
    if (json === null && isNullValue) number = 0
    // Adding zero turns -0 into 0.
    return number !== undefined && isEnumNumber(desc, number)
      ? number + 0
      : refuse(`expected a value of ${desc.typeName}`)
  }
}

function refuse(reason: string): never {
  throw new FieldError('', reason)
}
