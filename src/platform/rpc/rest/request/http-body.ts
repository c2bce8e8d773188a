import type { DescMessage, Message } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { HttpBody } from '#gen/google/api/httpbody_pb.ts'
import { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'
import { compileGetter, setField } from '../../text/field-value.ts'
import { fieldNamed, fieldsOf } from '../../text/message-fields.ts'

/** Stores raw content in a request. */
export type HttpBodySetter = (message: Message, contentType: string, data: Uint8Array) => void

/** Returns the raw content of a response; undefined if its field is unset. */
export type HttpBodyGetter = (message: Message) => HttpBody | undefined

/** Content type of raw content without one. */
export const OCTET_STREAM = 'application/octet-stream'

/**
 * Returns the setter for a request whose `body` is a google.api.HttpBody: the message itself for
 * `*`, or a field by proto name. Returns undefined for any other body.
 */
export function httpBodySetter(desc: DescMessage, body: string): HttpBodySetter | undefined {
  if (body === '*') {
    if (desc.typeName !== HttpBodySchema.typeName) return undefined
    return (message, contentType, data) => Object.assign(fieldsOf(message), { contentType, data })
  }
  const field = fieldNamed(desc, body)
  if (field?.message?.typeName !== HttpBodySchema.typeName || field.fieldKind !== 'message')
    return undefined
  const { message: type } = field
  return (message, contentType, data) =>
    setField(message, field, create(type, { contentType, data }))
}

/**
 * Returns the getter for a response that is a google.api.HttpBody, or whose `response_body` is.
 * Returns undefined for any other response.
 */
export function httpBodyGetter(
  desc: DescMessage,
  responseBody: string,
): HttpBodyGetter | undefined {
  if (responseBody === '') {
    return desc.typeName === HttpBodySchema.typeName ? (message) => message as HttpBody : undefined
  }
  const field = fieldNamed(desc, responseBody)
  if (field?.message?.typeName !== HttpBodySchema.typeName || field.fieldKind !== 'message')
    return undefined
  const get = compileGetter(field)
  return (message) => get(message) as HttpBody | undefined
}
