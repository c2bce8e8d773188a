import type { DescMessage, Message } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { HttpBody } from '#gen/google/api/httpbody_pb.ts'
import { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'
import { compileGetter, setField } from '../text/field-value.ts'
import { fieldNamed, fieldsOf } from '../text/message-fields.ts'

/** Puts raw content into a request. */
export type HttpBodySetter = (message: Message, contentType: string, data: Uint8Array) => void

/** Takes raw content out of a response; undefined if the field that has it is unset. */
export type HttpBodyGetter = (message: Message) => HttpBody | undefined

/** The type of raw content whose HttpBody names none. */
export const OCTET_STREAM = 'application/octet-stream'

/**
 * The setter for a request whose `body` is a google.api.HttpBody: the message itself for `*`, or a
 * field by proto name. Undefined for any other body.
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
 * The getter for a response that is a google.api.HttpBody, or whose `response_body` is. Undefined
 * for any other.
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
