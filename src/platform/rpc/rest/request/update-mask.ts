import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  hasOption,
  type JsonObject,
  type Message,
} from '@bufbuild/protobuf'
import { FieldMaskSchema } from '@bufbuild/protobuf/wkt'
import { FieldBehavior, field_behavior } from '#gen/google/api/field_behavior_pb.ts'
import { method as methodOption } from '#gen/rest/v1/rest_pb.ts'
import { isJsonObjectValue, parseJson } from '../../text/json-text.ts'
import { fieldNamed, fieldsByName, fieldsOf } from '../../text/message-fields.ts'

/** Fills in the mask of an update from the JSON of its body, unless the request has a mask. */
export type MaskDeriver = (request: Message, content: Uint8Array) => void

/**
 * Compiles the option `update_mask` of a method for a binding. Returns undefined for a method
 * without it. A PATCH without a mask changes the members of its body, as with JSON Merge Patch (RFC
 * 7396).
 *
 * @param body the body field of the binding.
 * @throws Error at start-up if the option does not name a FieldMask field.
 */
export function compileMaskDeriver(method: DescMethod, body: string): MaskDeriver | undefined {
  const name = hasOption(method, methodOption) ? getOption(method, methodOption).updateMask : ''
  if (name === '') return undefined
  const mask = fieldNamed(method.input, name)
  if (mask?.fieldKind !== 'message' || mask.message.typeName !== FieldMaskSchema.typeName) {
    throw new Error(
      `${method.parent.typeName}.${method.name}: update_mask "${name}" is not a field mask of the request`,
    )
  }
  const resource = fieldNamed(method.input, body)?.message
  if (!resource) return undefined
  return (request, content) => {
    const fields = fieldsOf(request)
    if (fields[mask.localName] !== undefined) return
    const json = content.length === 0 ? {} : parseJson(content)
    fields[mask.localName] = create(FieldMaskSchema, {
      paths: isJsonObjectValue(json) ? membersOf(resource, json) : [],
    })
  }
}

function membersOf(desc: DescMessage, json: JsonObject): string[] {
  return Object.entries(json).flatMap(([key, value]) => {
    const field = fieldsByName(desc).get(key)
    if (!field) return [key]
    if (isServerSet(field)) return []
    const nested =
      field.fieldKind === 'message' && !field.message.typeName.startsWith('google.protobuf.')
    if (!nested || !isJsonObjectValue(value)) return [field.name]
    return membersOf(field.message, value).map((path) => `${field.name}.${path}`)
  })
}

/** Returns whether a field is set by the server. Clients send such fields back unchanged. */
function isServerSet(field: DescField): boolean {
  const behaviors = hasOption(field, field_behavior) ? getOption(field, field_behavior) : []
  return (
    behaviors.includes(FieldBehavior.OUTPUT_ONLY) || behaviors.includes(FieldBehavior.IDENTIFIER)
  )
}
