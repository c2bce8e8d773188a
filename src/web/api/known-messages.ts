import { type MessageType, message } from './messages.ts'

// The types of `google.protobuf` that the API uses, which no generated module of the API has.

export const AnySchema: MessageType = /* @__PURE__ */ message(
  'google.protobuf.Any',
  '1stypeUrl 2yvalue',
)

export const EmptySchema: MessageType = /* @__PURE__ */ message('google.protobuf.Empty', '')

export const TimestampSchema: MessageType = /* @__PURE__ */ message(
  'google.protobuf.Timestamp',
  '1lseconds 2inanos',
)

export const DurationSchema: MessageType = /* @__PURE__ */ message(
  'google.protobuf.Duration',
  '1lseconds 2inanos',
)

export const FieldMaskSchema: MessageType = /* @__PURE__ */ message(
  'google.protobuf.FieldMask',
  '1s*paths',
)

export const ListValueSchema: MessageType = /* @__PURE__ */ message(
  'google.protobuf.ListValue',
  '1m*values',
  () => [ValueSchema],
)

export const ValueSchema: MessageType = /* @__PURE__ */ message(
  'google.protobuf.Value',
  '1ekind.nullValue 2dkind.numberValue 3skind.stringValue 4bkind.boolValue 5mkind.structValue 6mkind.listValue',
  () => [StructSchema, ListValueSchema],
)

/** A message of this type is a JSON object, unless the message is a part of a `Value`. */
export const StructSchema: MessageType = /* @__PURE__ */ jsonObject()

function jsonObject(): MessageType {
  const type = message('google.protobuf.Struct', '1m%sfields', () => [ValueSchema])
  return {
    typeName: type.typeName,
    get fields() {
      return type.fields
    },
    json: {
      toMessage: (value) => structOf(value as object),
      fromMessage: ({ fields }) => objectOf(fields as Struct['fields']),
    },
  }
}

interface Value {
  readonly kind:
    | { readonly case: 'nullValue'; readonly value: 0 }
    | { readonly case: 'numberValue'; readonly value: number }
    | { readonly case: 'stringValue'; readonly value: string }
    | { readonly case: 'boolValue'; readonly value: boolean }
    | { readonly case: 'structValue'; readonly value: Struct }
    | { readonly case: 'listValue'; readonly value: { readonly values: readonly Value[] } }
}

interface Struct {
  readonly fields: Readonly<Record<string, Value>>
}

function structOf(value: object): Struct {
  const entries = Object.entries(value)
  return {
    fields: Object.fromEntries(entries.map(([name, member]) => [name, valueOfJson(member)])),
  }
}

function valueOfJson(json: unknown): Value {
  if (Array.isArray(json))
    return { kind: { case: 'listValue', value: { values: json.map(valueOfJson) } } }
  if (typeof json === 'number') return { kind: { case: 'numberValue', value: json } }
  if (typeof json === 'string') return { kind: { case: 'stringValue', value: json } }
  if (typeof json === 'boolean') return { kind: { case: 'boolValue', value: json } }
  if (typeof json === 'object' && json !== null)
    return { kind: { case: 'structValue', value: structOf(json) } }
  return { kind: { case: 'nullValue', value: 0 } }
}

function objectOf(fields: Struct['fields']): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, jsonOf(value)]))
}

function jsonOf({ kind }: Value): unknown {
  if (kind.case === 'structValue') return objectOf(kind.value.fields)
  if (kind.case === 'listValue') return kind.value.values.map(jsonOf)
  return kind.case === 'nullValue' ? null : kind.value
}
