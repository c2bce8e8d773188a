import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type Message,
  type Registry,
  ScalarType,
  toJson,
} from '@bufbuild/protobuf'
import { scalarZeroValue } from '@bufbuild/protobuf/reflect'
import {
  type Any,
  anyUnpack,
  type Duration,
  FeatureSet_FieldPresence,
  type FieldMask,
  hasCustomJsonRepresentation,
  isWrapperDesc,
  type Timestamp,
} from '@bufbuild/protobuf/wkt'
import {
  type Field,
  FieldSchema,
  field as fieldOption,
  Names,
  Unset,
} from '#gen/rest/v1/rest_pb.ts'
import {
  type Fields,
  fieldsOf,
  isJsonObject,
  isUnwrapped,
  type JsonDialect,
  type Oneof,
} from './message-fields.ts'
import { enumTexts, isInt64 } from './scalar-text.ts'
import { printDuration, printFieldMask, printTimestamp } from './well-known-text.ts'

/**
 * Prints a message, or one field, as JSON text. Throws for a well-known type that is out of range.
 */
export type Writer = (message: Message) => string

/** Prints what a `Writer` prints, in parts. Each element of a list of the message is a part. */
export type PartsWriter = (message: Message) => Generator<string>

/** Appends a member to the members of an object. */
type Append = (fields: Fields, members: string) => string

/** The context of all writers, and the compiled writers. */
interface Compiler {
  readonly dialect: JsonDialect
  readonly registry: Registry
  readonly writers: Map<DescMessage, Writer>
  /**
   * Texts of the messages in the fields of the elements of a list, while the outermost list is
   * printed. Elements often share such a message, for example the repository of all pull requests.
   * Nobody can change a message while the list is printed.
   */
  shared: Map<Message, string> | undefined
}

const compilers = new WeakMap<Registry, WeakMap<JsonDialect, Compiler>>()

/**
 * Compiles the JSON writer of a message: proto3 JSON in the dialect, with members in the order of
 * field numbers. The registry has the types of messages in google.protobuf.Any; an Any of another
 * type prints its bytes. Writers are cached by registry, dialect and type.
 */
export function compileWriter(desc: DescMessage, dialect: JsonDialect, registry: Registry): Writer {
  return messageWriter(desc, compilerFor(dialect, registry))
}

/**
 * Compiles the JSON writer of one field for `response_body`. Empty lists and maps are `[]` and
 * `{}`. An unset message, or an unset field with explicit presence, is `null`.
 */
export function compileFieldWriter(
  field: DescField,
  dialect: JsonDialect,
  registry: Registry,
): Writer {
  const print = fieldPrinter(field, compilerFor(dialect, registry))
  const get = hasPresence(field) ? presentValue(field) : (fields: Fields) => fields[field.localName]
  return (message) => {
    const value = get(fieldsOf(message))
    return value === undefined ? 'null' : print(value)
  }
}

/** Compiles the writer of a message in parts. */
export function compilePartsWriter(
  desc: DescMessage,
  dialect: JsonDialect,
  registry: Registry,
): PartsWriter {
  return partsWriter(desc, compilerFor(dialect, registry))
}

/** Compiles the writer of one field for `response_body` in parts. */
export function compileFieldPartsWriter(
  field: DescField,
  dialect: JsonDialect,
  registry: Registry,
): PartsWriter {
  const compiler = compilerFor(dialect, registry)
  const { localName } = field
  if (field.fieldKind === 'list') {
    const listParts = listPartsOf(field, compiler)
    return function* inParts(message) {
      yield yield* listParts(fieldsOf(message)[localName] as readonly unknown[])
    }
  }
  const write = compileFieldWriter(field, dialect, registry)
  const get = presentValue(field)
  if (field.fieldKind !== 'message' || !hasFields(field))
    return function* inOnePart(message) {
      yield write(message)
    }
  const parts = partsWriter(field.message, compiler)
  return function* inParts(message) {
    const value = get(fieldsOf(message))
    if (value === undefined) yield write(message)
    else yield* parts(value as Message)
  }
}

function partsWriter(desc: DescMessage, compiler: Compiler): PartsWriter {
  const fields = hasCustomJsonRepresentation(desc) ? [] : fieldsInRest(desc)
  if (!fields.some(({ fieldKind }) => fieldKind === 'list')) {
    const write = messageWriter(desc, compiler)
    return function* inOnePart(message) {
      yield write(message)
    }
  }
  const members = fields.map((field) => ({
    name: quote(memberName(field, compiler.dialect)),
    get: presentValue(field),
    append: memberAppender(field, compiler),
    listParts: field.fieldKind === 'list' ? listPartsOf(field, compiler) : undefined,
  }))
  return function* inParts(message) {
    let text = ''
    yield '{'
    for (const { name, get, append, listParts } of members) {
      const list = get(fieldsOf(message))
      if (listParts === undefined || list === undefined) {
        text = append(fieldsOf(message), text)
      } else {
        yield `${text}${text === '' ? '' : ','}${name}:`
        text = yield* listParts(list as readonly unknown[])
      }
    }
    yield `${text}}`
  }
}

/**
 * Compiles the writer of a list in parts. It returns its last part. A message in several elements is
 * printed once.
 */
function listPartsOf(
  field: DescField & { fieldKind: 'list' },
  compiler: Compiler,
): (list: readonly unknown[]) => Generator<string, string> {
  const print = elementPrinter(field, compiler)
  return function* inParts(list) {
    const shared = hasFields(field) && list.length > 1 ? new Map<Message, string>() : undefined
    let separator = '['
    for (const element of list) {
      yield separator + printWith(shared, print, element, compiler)
      separator = ','
    }
    return list.length === 0 ? '[]' : ']'
  }
}

/** Prints an element. Other messages may be printed before the next one. */
function printWith(
  shared: Map<Message, string> | undefined,
  print: Print,
  element: unknown,
  compiler: Compiler,
): string {
  compiler.shared = shared
  try {
    return print(element)
  } finally {
    compiler.shared = undefined
  }
}

function compilerFor(dialect: JsonDialect, registry: Registry): Compiler {
  let byDialect = compilers.get(registry)
  if (byDialect === undefined) {
    byDialect = new WeakMap()
    compilers.set(registry, byDialect)
  }
  let compiler = byDialect.get(dialect)
  if (compiler === undefined) {
    compiler = { dialect, registry, writers: new Map(), shared: undefined }
    byDialect.set(dialect, compiler)
  }
  return compiler
}

function messageWriter(desc: DescMessage, compiler: Compiler): Writer {
  let writer = compiler.writers.get(desc)
  if (writer === undefined) {
    writer = wellKnownWriter(desc, compiler) ?? fieldsWriter(desc, compiler)
    compiler.writers.set(desc, writer)
  }
  return writer
}

function fieldsWriter(desc: DescMessage, compiler: Compiler): Writer {
  const appends: Append[] = []
  const writer: Writer = (message) => {
    let members = ''
    for (const append of appends) members = append(fieldsOf(message), members)
    return `{${members}}`
  }
  // Stored before the fields are compiled, because a type may contain itself.
  compiler.writers.set(desc, writer)
  appends.push(...fieldsInRest(desc).map((field) => memberAppender(field, compiler)))
  return writer
}

function fieldsInRest(desc: DescMessage): DescField[] {
  return desc.fields.filter(isInRest).toSorted((a, b) => a.number - b.number)
}

function memberAppender(field: DescField, compiler: Compiler): Append {
  const name = quote(memberName(field, compiler.dialect))
  const first = `${name}:`
  const next = `,${name}:`
  const get = presentValue(field)
  const print = fieldPrinter(field, compiler)
  const unset = unsetText(field, print, compiler.dialect)
  if (unset === undefined) {
    return (fields, members) => {
      const value = get(fields)
      return value === undefined
        ? members
        : members + (members === '' ? first : next) + print(value)
    }
  }
  return (fields, members) => {
    const value = get(fields)
    return members + (members === '' ? first : next) + (value === undefined ? unset : print(value))
  }
}

const NO_OPTIONS = create(FieldSchema)

/** The options of the fields that have some. `getOption` builds a message type at each call. */
const knownOptions = new WeakMap<DescField, Field>()

function optionsOf(field: DescField): Field {
  if (!hasOption(field, fieldOption)) return NO_OPTIONS
  const options = knownOptions.get(field) ?? getOption(field, fieldOption)
  knownOptions.set(field, options)
  return options
}

/** Returns the name of a field in responses. Requests may use every spelling. */
export function memberName(field: DescField, { names }: Pick<JsonDialect, 'names'>): string {
  switch (optionsOf(field).names) {
    case Names.ORIGINAL:
      return field.name
    case Names.LOWER_CAMEL:
      return field.jsonName
  }
  return names === 'original' ? field.name : field.jsonName
}

/** Returns whether responses have the field. */
export function isInRest(field: DescField): boolean {
  return !optionsOf(field).rpcOnly
}

/** Returns the text of an unset field; undefined if the field is omitted. */
function unsetText(field: DescField, print: Print, dialect: JsonDialect): string | undefined {
  switch (unsetForm(field, dialect)) {
    case 'omit':
      return undefined
    case 'null':
      return 'null'
    case 'default':
      return defaultText(field, print)
  }
}

/** Returns the form of an unset field by its own option or the dialect. */
export function unsetForm(field: DescField, dialect: JsonDialect): 'omit' | 'default' | 'null' {
  switch (optionsOf(field).unset) {
    case Unset.OMIT:
      return 'omit'
    case Unset.NULL:
      return 'null'
    case Unset.DEFAULT:
      return 'default'
  }
  if (field.fieldKind === 'list') return dialect.lists
  if (field.fieldKind === 'map') return dialect.maps
  return hasPresence(field) ? dialect.messages : dialect.scalars
}

function defaultText(field: DescField, print: Print): string {
  switch (field.fieldKind) {
    case 'list':
      return '[]'
    case 'map':
      return '{}'
    case 'scalar':
      return print(field.getDefaultValue() ?? scalarZeroValue(field.scalar, false))
    case 'enum':
      return print(field.getDefaultValue() ?? field.enum.values[0]?.number)
    case 'message':
      return defaultMessageText(field, print)
  }
}

function defaultMessageText(field: DescField & { fieldKind: 'message' }, print: Print): string {
  const desc = field.message
  if (isUnwrapped(field) && isWrapperDesc(desc))
    return print(scalarZeroValue(desc.fields[0].scalar, false))
  if (desc.typeName === 'google.protobuf.Value') return 'null'
  // The writer of an ordinary type could print its own defaults without end.
  return hasCustomJsonRepresentation(desc) && !isJsonObject(field) ? print(create(desc)) : '{}'
}

/** Returns whether a singular field distinguishes unset from its default value. */
function hasPresence(field: DescField): boolean {
  return (
    field.fieldKind !== 'list' &&
    field.fieldKind !== 'map' &&
    (field.oneof !== undefined || field.presence !== FeatureSet_FieldPresence.IMPLICIT)
  )
}

/** Compiles the getter of a field. The getter returns undefined for an unset field. */
function presentValue(field: DescField): (fields: Fields) => unknown {
  const { localName } = field
  if (field.fieldKind === 'list') {
    return (fields) => {
      const list = fields[localName] as unknown[]
      return list.length === 0 ? undefined : list
    }
  }
  if (field.fieldKind === 'map') {
    return (fields) => {
      const map = fields[localName] as Fields
      return Object.keys(map).length === 0 ? undefined : map
    }
  }
  const oneof = field.oneof?.localName
  if (oneof !== undefined) {
    return (fields) => {
      const current = fields[oneof] as Oneof
      return current.case === localName ? current.value : undefined
    }
  }
  if (field.fieldKind === 'message') return (fields) => fields[localName]
  // Outside of proto3, the prototype has the default values of fields with presence.
  if (hasPresence(field))
    return (fields) => (Object.hasOwn(fields, localName) ? fields[localName] : undefined)
  const isZero = zeroTest(field)
  return (fields) => {
    const value = fields[localName]
    return isZero(value) ? undefined : value
  }
}

function zeroTest(
  field: DescField & { fieldKind: 'scalar' | 'enum' },
): (value: unknown) => boolean {
  switch (field.scalar) {
    case ScalarType.BYTES:
      return (value) => (value as Uint8Array).byteLength === 0
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      // Negative zero is not the default value.
      return (value) => Object.is(value, 0)
    default: {
      const zero =
        field.fieldKind === 'enum'
          ? field.enum.values[0]?.number
          : scalarZeroValue(field.scalar, field.longAsString)
      return (value) => value === zero
    }
  }
}

function fieldPrinter(field: DescField, compiler: Compiler): Print {
  const print = elementPrinter(field, compiler)
  if (field.fieldKind === 'list') {
    return hasFields(field)
      ? (value) => printSharing(value as readonly unknown[], print, compiler)
      : (value) => printList(value as readonly unknown[], print)
  }
  if (field.fieldKind === 'map') return (value) => printMap(value as Fields, print)
  return print
}

function printList(list: readonly unknown[], print: Print): string {
  let elements = ''
  for (const element of list) elements += (elements === '' ? '' : ',') + print(element)
  return `[${elements}]`
}

/** Prints a list of messages. A message in several of them is printed once. */
function printSharing(list: readonly unknown[], print: Print, compiler: Compiler): string {
  if (compiler.shared || list.length === 1) return printList(list, print)
  compiler.shared = new Map()
  try {
    return printList(list, print)
  } finally {
    compiler.shared = undefined
  }
}

/** Prints a message, or returns its text if the outermost list has it already. */
function printShared(message: Message, write: Writer, { shared }: Compiler): string {
  if (!shared) return write(message)
  const known = shared.get(message)
  if (known !== undefined) return known
  const text = concatenated(write(message))
  shared.set(message, text)
  return text
}

const OPENING_BRACE = 0x7b

/**
 * Returns the text of a message. V8 keeps a sum of strings as a tree of its parts and concatenates
 * the parts when a character is read. Here that happens once, otherwise once for each use.
 */
function concatenated(text: string): string {
  if (text.charCodeAt(0) !== OPENING_BRACE) throw new Error('a message is not printed as an object')
  return text
}

function printMap(map: Fields, print: Print): string {
  let members = ''
  for (const key of Object.keys(map))
    members += `${members === '' ? '' : ','}${quote(key)}:${print(map[key])}`
  return `{${members}}`
}

function elementPrinter(field: DescField, compiler: Compiler): Print {
  if (field.enum !== undefined) return enumPrinter(field.enum)
  if (field.message === undefined) return scalarPrinter(field.scalar, compiler.dialect)
  if (isJsonObject(field)) return JSON.stringify
  const desc = field.message
  if (isUnwrapped(field) && isWrapperDesc(desc))
    return scalarPrinter(desc.fields[0].scalar, compiler.dialect)
  const write = messageWriter(desc, compiler)
  if (field.fieldKind === 'message' && hasFields(field))
    return (value) => printShared(value as Message, write, compiler)
  return (value) => write(value as Message)
}

/** Returns whether the field has messages without a JSON form of their own. */
function hasFields({ message }: DescField): boolean {
  return message !== undefined && !hasCustomJsonRepresentation(message)
}

function wellKnownWriter(desc: DescMessage, compiler: Compiler): Writer | undefined {
  switch (desc.typeName) {
    case 'google.protobuf.Timestamp':
      return (message) => `"${printTimestamp(message as Timestamp)}"`
    case 'google.protobuf.Duration':
      return (message) => `"${printDuration(message as Duration)}"`
    case 'google.protobuf.FieldMask':
      return (message) => quote(printFieldMask(message as FieldMask))
    case 'google.protobuf.Struct':
    case 'google.protobuf.ListValue':
    case 'google.protobuf.Value':
      return (message) => JSON.stringify(toJson(desc, message))
    case 'google.protobuf.Any':
      return (message) => writeAny(message as Any, compiler)
  }
  if (!isWrapperDesc(desc)) return undefined
  const print = scalarPrinter(desc.fields[0].scalar, compiler.dialect)
  return (message) => print(fieldsOf(message).value)
}

function writeAny(any: Any, compiler: Compiler): string {
  if (any.typeUrl === '') return '{}'
  const message = unpack(any, compiler.registry)
  const desc = message && compiler.registry.getMessage(message.$typeName)
  return message === undefined || desc === undefined
    ? printAny(any.typeUrl, undefined, printBytes(any.value))
    : printAny(any.typeUrl, desc, messageWriter(desc, compiler)(message))
}

/**
 * Prints a google.protobuf.Any: an object with the type URL in `@type` beside the fields, or beside
 * `value` for types with their own JSON form and for unknown types.
 *
 * @param json the JSON text of the message, or of its bytes if the type is unknown.
 */
export function printAny(typeUrl: string, desc: DescMessage | undefined, json: string): string {
  const type = `"@type":${quote(typeUrl)}`
  if (desc === undefined || hasCustomJsonRepresentation(desc)) return `{${type},"value":${json}}`
  return json === '{}' ? `{${type}}` : `{${type},${json.slice(1)}`
}

function unpack(any: Any, registry: Registry): Message | undefined {
  try {
    return anyUnpack(any, registry)
  } catch {
    // Invalid bytes print like those of an unknown type.
    return undefined
  }
}

/** Prints a value that protobuf-es stores as JSON text. */
type Print = (value: unknown) => string

/**
 * Longest string for which a regular expression finds characters to escape faster than
 * JSON.stringify.
 */
const SHORT_STRING = 64

// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 8259 section 7 has them escaped.
const escaped = /[\u0000-\u001f"\\\ud800-\udfff]/

/** Prints a JSON string. */
export function quote(text: string): string {
  return text.length <= SHORT_STRING && !escaped.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** Returns the printer of a scalar in proto3 JSON. */
function scalarPrinter(type: ScalarType, dialect: JsonDialect): Print {
  if (isInt64(type)) return dialect.int64 === 'number' ? printInt64AsNumber : printQuoted
  switch (type) {
    case ScalarType.STRING:
      return (value) => quote(value as string)
    case ScalarType.BYTES:
      return (value) => printBytes(value as Uint8Array)
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return printFloating
    default:
      return String
  }
}

function printFloating(value: unknown): string {
  // String() drops the sign of zero. Negative zero is not the default value.
  if (Object.is(value, -0)) return '-0'
  return Number.isFinite(value) ? String(value) : printQuoted(value)
}

/** Prints bytes in padded standard base64. */
export function printBytes(bytes: Uint8Array): string {
  return `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}"`
}

/**
 * Returns the printer of an enum: the REST text or name, the number for an undeclared value, `null`
 * for NullValue.
 */
function enumPrinter(desc: DescEnum): Print {
  if (desc.typeName === 'google.protobuf.NullValue') return () => 'null'
  const texts = new Map([...enumTexts(desc)].map(([number, text]) => [number, quote(text)]))
  return (value) => texts.get(value as number) ?? String(value)
}

/** Most JSON parsers lose digits of numbers beyond 2^53-1, so those are printed as strings. */
function printInt64AsNumber(value: unknown): string {
  return Number.isSafeInteger(Number(value)) ? String(value) : printQuoted(value)
}

function printQuoted(value: unknown): string {
  return `"${value}"`
}
