import type { DescField, JsonObject, JsonValue } from '@bufbuild/protobuf'

export function isObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** Returns the value of a field in the JSON of its message. */
export function memberOf(json: JsonValue | undefined, field: DescField): JsonValue | undefined {
  return isObject(json) ? json[field.jsonName] : undefined
}
