import {
  type DescEnum,
  type DescField,
  type DescMessage,
  getOption,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf'
import { FieldBehavior, field_behavior } from '#gen/google/api/field_behavior_pb.ts'

/** The typed text of a value, which may not be valid yet. */
export type Draft =
  /** A scalar, an enum, or a message that JSON has as one text. Empty for an unset field. */
  | { readonly kind: 'text'; readonly text: string }
  /** The elements of a list or a map. */
  | { readonly kind: 'entries'; readonly entries: readonly DraftEntry[] }
  | { readonly kind: 'message'; readonly fields: DraftFields }

/** An element of a list, whose key is empty, or of a map. */
export interface DraftEntry {
  /** Tells the elements apart while others come and go. */
  readonly id: symbol
  readonly key: string
  readonly value: Draft
}

/** The drafts of the fields that are set, by their local names. */
export type DraftFields = Readonly<Record<string, Draft>>

/** The type of a value: of a singular field, or of an element of a list or map. */
export type ValueType = ScalarType | DescEnum | DescMessage

export function newEntry(key: string, value: Draft): DraftEntry {
  return { id: Symbol(), key, value }
}

/** Returns the type of the values of a field. */
export function valueTypeOf(field: DescField): ValueType {
  return field.message ?? field.enum ?? field.scalar
}

/** Whether JSON has another form for a message than its fields (protobuf.dev, "JSON mapping"). */
export function hasOwnJson({ typeName }: DescMessage): boolean {
  return typeName.startsWith('google.protobuf.') && typeName !== 'google.protobuf.Empty'
}

/** Whether a form has fields for a type, rather than one text. */
export function isComposite(type: ValueType): type is DescMessage {
  return typeof type === 'object' && type.kind === 'message' && !hasOwnJson(type)
}

/** Returns the draft of a value that nobody has typed. */
export function emptyValue(type: ValueType): Draft {
  return isComposite(type) ? { kind: 'message', fields: {} } : { kind: 'text', text: '' }
}

/** Whether callers may set a field. */
export function isInput(field: DescField): boolean {
  return !getOption(field, field_behavior).includes(FieldBehavior.OUTPUT_ONLY)
}

export function isRequired(field: DescField): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED)
}

/** Returns the JSON of a draft. Fields without a text are left out. */
export function jsonOfFields(message: DescMessage, fields: DraftFields): JsonObject {
  const json: Record<string, JsonValue> = {}
  for (const field of message.fields) {
    const draft = fields[field.localName]
    const value = draft && jsonOfField(field, draft)
    if (value !== undefined) json[field.jsonName] = value
  }
  return json
}

function jsonOfField(field: DescField, draft: Draft): JsonValue | undefined {
  const type = valueTypeOf(field)
  if (draft.kind === 'text' && draft.text === '') return undefined
  if (draft.kind !== 'entries') return jsonOfValue(type, draft)
  if (draft.entries.length === 0) return undefined
  const values = draft.entries.map(({ key, value }) => [key, jsonOfValue(type, value)] as const)
  return field.fieldKind === 'map' ? Object.fromEntries(values) : values.map(([, value]) => value)
}

function jsonOfValue(type: ValueType, draft: Draft): JsonValue {
  if (draft.kind === 'message') return isComposite(type) ? jsonOfFields(type, draft.fields) : {}
  const text = draft.kind === 'text' ? draft.text : ''
  if (typeof type === 'object') return type.kind === 'enum' ? text : parsedOr(text)
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
    // JSON has integers of 64 bits as texts.
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return text
    default:
      return parsedOr(text)
  }
}

/** A text that is no JSON stands for itself, so that a time needs no quotes. */
function parsedOr(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text
  }
}

/** Returns the draft of JSON that protobuf has printed. */
export function fieldsOfJson(message: DescMessage, json: JsonValue): DraftFields {
  const fields: Record<string, Draft> = {}
  for (const field of message.fields) {
    const value = memberOf(json, field)
    if (value !== undefined) fields[field.localName] = draftOfField(field, value)
  }
  return fields
}

function draftOfField(field: DescField, json: JsonValue): Draft {
  const type = valueTypeOf(field)
  if (field.fieldKind === 'list' && Array.isArray(json))
    return { kind: 'entries', entries: json.map((item) => newEntry('', draftOfValue(type, item))) }
  if (field.fieldKind === 'map' && isObject(json)) {
    const entries = Object.entries(json)
    return { kind: 'entries', entries: entries.map(([k, v]) => newEntry(k, draftOfValue(type, v))) }
  }
  return draftOfValue(type, json)
}

function draftOfValue(type: ValueType, json: JsonValue): Draft {
  if (isComposite(type)) return { kind: 'message', fields: fieldsOfJson(type, json) }
  return { kind: 'text', text: typeof json === 'string' ? json : JSON.stringify(json) }
}

export function isObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** Returns the value of a field in the JSON of its message. */
export function memberOf(json: JsonValue | undefined, field: DescField): JsonValue | undefined {
  return isObject(json) ? json[field.jsonName] : undefined
}
