import type { DescField, DescMessage } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isWrapperDesc } from '@bufbuild/protobuf/wkt'
import type { Dialect } from '../../platform/rpc/index.ts'
import type { Schema } from './document.ts'

/** Returns the JSON form of a scalar (https://protobuf.dev/programming-guides/json). */
export function scalarSchema(type: ScalarType, int64: Dialect['int64']): Schema {
  switch (type) {
    case ScalarType.STRING:
      return { type: 'string' }
    case ScalarType.BOOL:
      return { type: 'boolean' }
    case ScalarType.BYTES:
      return { type: 'string', contentEncoding: 'base64' }
    case ScalarType.FLOAT:
      return { type: 'number', format: 'float' }
    case ScalarType.DOUBLE:
      return { type: 'number', format: 'double' }
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return { type: 'integer', format: 'int32' }
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: 'integer', format: 'uint32', minimum: 0 }
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return { type: int64 === 'number' ? 'integer' : 'string', format: 'int64' }
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: int64 === 'number' ? 'integer' : 'string', format: 'uint64' }
  }
}

/** Returns the JSON form of a well-known type; undefined for other messages. */
export function wellKnownSchema(desc: DescMessage, int64: Dialect['int64']): Schema | undefined {
  if (isWrapperDesc(desc)) return scalarSchema(desc.fields[0].scalar, int64)
  switch (desc.typeName) {
    case 'google.protobuf.Timestamp':
      return { type: 'string', format: 'date-time' }
    case 'google.protobuf.Duration':
      return { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]{1,9})?s$' }
    case 'google.protobuf.FieldMask':
      return { type: 'string' }
    case 'google.protobuf.Empty':
      return { type: 'object' }
    case 'google.protobuf.Struct':
      return { type: 'object', additionalProperties: true }
    case 'google.protobuf.ListValue':
      return { type: 'array', items: {} }
    case 'google.protobuf.Value':
      return {}
    case 'google.protobuf.Any':
      return { type: 'object', properties: { '@type': { type: 'string' } }, required: ['@type'] }
    default:
      return undefined
  }
}

/** Returns whether a field is a FieldMask, whose text a JSON Schema cannot describe. */
export function isFieldMask(field: DescField): boolean {
  return field.message?.typeName === 'google.protobuf.FieldMask'
}
