import { hash } from 'node:crypto'
import type { DescField, Message, Registry } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { type ConnectError, createContextKey } from '@connectrpc/connect'
import type { CallContext } from '../exchange/context.ts'
import { checkSize } from '../exchange/formats.ts'
import type { HeaderList } from '../exchange/header-list.ts'
import { findHeader, headerValue } from '../exchange/header-list.ts'
import { metadataOf } from '../exchange/metadata.ts'
import { tagMatches } from '../exchange/negotiate.ts'
import type { Reply } from '../exchange/node.ts'
import { hasNoContent } from '../exchange/node.ts'
import { compileGetter } from '../text/field-value.ts'
import { compileFieldWriter, compileWriter } from '../text/json-write.ts'
import { fieldNamed } from '../text/message-fields.ts'
import type { ErrorStyle } from './errors.ts'
import { encodeError } from './errors.ts'
import { httpBodyGetter, OCTET_STREAM } from './request/http-body.ts'
import { compilePaging, publicRequestUrl } from './request/paging.ts'
import type { Binding } from './schema/binding.ts'
import { isSuccessStatus } from './schema/dialect.ts'

/**
 * The context value for the success status of one call over REST, for example 201 if PUT created
 * and 204 if it replaced the resource. Other protocols ignore the value.
 */
export const successStatus = createContextKey<number | undefined>(undefined, {
  description: 'REST success status',
})

/** The content of a response. */
export interface ReplyContent {
  readonly body: string | Uint8Array
  readonly contentType: string
}

/** The parts of a call that its response depends on, beside the response message. */
export interface ReplyInput {
  readonly context: CallContext
  readonly request: Message
  /** The request target as received. */
  readonly target: string
  readonly ifNoneMatch: string | undefined
  /** Returns the base of the URLs in `Link`. */
  readonly baseUrl: () => string
}

/** Creates the response from the response message of a unary call. */
export type ReplyWriter = (response: Message, input: ReplyInput) => Reply

/** Compiles the writer of response content: JSON, or the raw data of an HttpBody. */
export function compileContent(
  binding: Binding,
  registry: Registry,
): (response: Message) => ReplyContent {
  const { rpc, dialect, responseBody, singleBody } = binding
  const getHttpBody = httpBodyGetter(rpc.output, responseBody)
  if (getHttpBody !== undefined) {
    return (response) => {
      const raw = getHttpBody(response)
      return { body: raw?.data ?? new Uint8Array(), contentType: raw?.contentType || OCTET_STREAM }
    }
  }
  const { contentType } = dialect
  const field = fieldNamed(rpc.output, responseBody)
  const write =
    field === undefined
      ? compileWriter(rpc.output, dialect, registry)
      : compileFieldWriter(field, dialect, registry)
  if (singleBody === undefined) return (response) => ({ body: write(response), contentType })
  const single = compileGetter(singleBody)
  const writeSingle = compileFieldWriter(singleBody, dialect, registry)
  return (response) => ({
    body: (single(response) === undefined ? write : writeSingle)(response),
    contentType,
  })
}

/**
 * Compiles the writer of responses to unary calls.
 *
 * @param maxBytes size limit of the content.
 */
export function compileReply(binding: Binding, registry: Registry, maxBytes: number): ReplyWriter {
  const contentOf = compileContent(binding, registry)
  const { dialect, isBodiless } = binding
  const isRaw = httpBodyGetter(binding.rpc.output, binding.responseBody) !== undefined
  const addFields = compileFieldHeaders(binding)
  return (response, input) => {
    const { context } = input
    const status = statusOf(context, binding.successStatus)
    const headers = metadataOf(context.responseHeader, context.responseTrailer)
    addFields(headers, response, input)
    if (isBodiless || (hasNoContent(status) && !isDeclared(binding, status)))
      return { status, headers, body: undefined, contentType: '' }

    const content = contentOf(response)
    checkSize(content.body, maxBytes)
    const contentType = (isRaw && context.responseHeader.get('content-type')) || content.contentType
    const tagged =
      status === 200 && (context.requestMethod === 'GET' || context.requestMethod === 'HEAD')
    if (!tagged) return { status, headers, body: content.body, contentType }

    let tag = findHeader(headers, 'etag')
    if (tag === undefined && dialect.etag) {
      tag = weakTag(content.body)
      headers.push('ETag', tag)
    }
    const { ifNoneMatch } = input
    if (tag !== undefined && ifNoneMatch !== undefined && tagMatches(ifNoneMatch, tag))
      return notModified(headers)
    return { status, headers, body: content.body, contentType }
  }
}

/**
 * Returns whether a method declares a status that has no content by RFC 9110. Compatible systems
 * send content with 205, and their clients parse it.
 */
function isDeclared({ successStatus }: Binding, status: number): boolean {
  return status === 205 && successStatus === 205
}

/** Returns the response to a failed call. `context` is undefined if the call never started. */
export function errorReply(error: ConnectError, style: ErrorStyle, context?: CallContext): Reply {
  const { status, headers: own, body } = encodeError(error, style)
  // As over Connect, metadata of the error replaces headers that the call set before it failed.
  const merged = new Headers(context?.responseHeader)
  for (const name of new Set(error.metadata.keys())) merged.delete(name)
  error.metadata.forEach((value, name) => {
    merged.append(name, value)
  })
  for (const [name, value] of own) merged.set(name, headerValue(value))
  const headers = metadataOf(merged, context?.responseTrailer)
  const contentType = style.dialect.contentType
  return { status, headers, body: hasNoContent(status) ? undefined : body, contentType }
}

type AddHeaders = (headers: HeaderList, response: Message, input: ReplyInput) => void

/** Compiles the headers that come from response fields and from paging. */
function compileFieldHeaders(binding: Binding): AddHeaders {
  const copies = binding.headers.map(({ name, field }) => {
    const get = compileGetter(field)
    return { name, textOf: (response: Message) => textUnlessDefault(field, get(response)) }
  })
  const pageHeaders = binding.page && compilePaging(binding.page, binding.dialect.names)
  return (headers, response, { context, request, target, baseUrl }) => {
    for (const { name, textOf } of copies) {
      const text = textOf(response)
      if (text !== undefined && !context.responseHeader.has(name))
        headers.push(name, headerValue(text))
    }
    if (pageHeaders === undefined) return
    const { total, link } = pageHeaders(request, response, publicRequestUrl(baseUrl(), target))
    headers.push('X-Total-Count', total)
    if (link !== undefined) headers.push('Link', link)
  }
}

/**
 * Returns the value of a scalar field as text; undefined for zero, false, the empty string and an
 * unset member of a oneof.
 */
function textUnlessDefault(field: DescField, value: unknown): string | undefined {
  // With `jstype`, a 64-bit zero is the text `0`.
  if (!value || (value === '0' && field.scalar !== ScalarType.STRING)) return undefined
  return String(value)
}

/** Returns the success status: that of the call, or else the declared one. */
export function statusOf({ values }: CallContext, declared: number): number {
  const status = values.get(successStatus)
  if (status === undefined) return declared
  if (isSuccessStatus(status)) return status
  throw new Error(`success status ${status} is not from 200 to 399`)
}

/**
 * Returns a weak entity tag, which is the same in every content coding. SHA-1 is sufficient to
 * distinguish versions.
 */
function weakTag(body: string | Uint8Array): string {
  return `W/"${hash('sha1', body, 'base64url')}"`
}

/** Headers that a 304 response leaves out (RFC 9110 15.4.5). */
const contentMetadata = new Set([
  'content-disposition',
  'content-language',
  'content-range',
  'last-modified',
])

/** Returns the response to a client that has the content cached. */
export function notModified(headers: HeaderList): Reply {
  const kept: HeaderList = []
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = headers.slice(i, i + 2)
    if (!contentMetadata.has(name.toLowerCase())) kept.push(name, value)
  }
  return { status: 304, headers: kept, body: undefined, contentType: '' }
}
