import { hash } from 'node:crypto'
import type { DescField, Message, Registry } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { Code, ConnectError, createContextKey } from '@connectrpc/connect'
import type { RestContext } from '../exchange/context.ts'
import type { HeaderList } from '../exchange/header-list.ts'
import { findHeader, headerValue, isProtocolHeader } from '../exchange/header-list.ts'
import { LazyHeaders } from '../exchange/lazy-headers.ts'
import { tagMatches } from '../exchange/negotiate.ts'
import type { Reply } from '../exchange/node.ts'
import { byteLength, hasNoContent } from '../exchange/node.ts'
import type { ErrorStyle } from './errors.ts'
import { encodeError } from './errors.ts'
import { fieldNamed, httpBodyGetter, OCTET_STREAM } from './request/http-body.ts'
import { compilePaging, publicRequestUrl } from './request/paging.ts'
import { isSuccessStatus } from './schema/dialect.ts'
import type { Binding } from './schema/rules.ts'
import { compileGetter } from './text/field-value.ts'
import { compileFieldWriter, compileWriter } from './text/json-write.ts'

/**
 * Context value with which one call sets its own success status, for example 201 where PUT created
 * and 204 where it replaced. The RPC protocols do not see it.
 */
export const successStatus = createContextKey<number | undefined>(undefined, {
  description: 'REST success status',
})

/** ReplyContent of an answer. */
export interface ReplyContent {
  readonly body: string | Uint8Array
  readonly contentType: string
}

/** What an answer depends on beside the response message. */
export interface ReplyInput {
  readonly context: RestContext
  readonly request: Message
  /** The request target as received. */
  readonly target: string
  readonly ifNoneMatch: string | undefined
  /** Base of the URLs in `Link`. */
  readonly baseUrl: () => string
}

/** Turns the response message of a unary call into the answer. */
export type ReplyWriter = (response: Message, input: ReplyInput) => Reply

/** Compiles how the response of a binding becomes content: JSON, or the raw data of an HttpBody. */
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
 * Compiles the answers of a binding to unary calls. `maxBytes` is the largest content that may be
 * sent.
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
    if (isBodiless || hasNoContent(status))
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

/** The answer to a call that failed. `context` is there if the call was made. */
export function errorReply(
  error: ConnectError,
  style: ErrorStyle,
  context: RestContext | undefined,
): Reply {
  const { status, headers: own, body } = encodeError(error, style)
  // Metadata of the error replaces what the call had set before it failed, as over Connect.
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

/**
 * The headers that a call set, without those that belong to the protocol. Trailers become headers
 * with a prefix, as in the Connect protocol.
 */
export function metadataOf(header: Headers, trailer?: Headers): HeaderList {
  const headers: HeaderList = []
  if (!isUntouched(header)) {
    header.forEach((value, name) => {
      if (!isProtocolHeader(name)) headers.push(name, value)
    })
  }
  if (trailer !== undefined && !isUntouched(trailer)) {
    trailer.forEach((value, name) => {
      headers.push(`Trailer-${name}`, value)
    })
  }
  return headers
}

function isUntouched(header: Headers): boolean {
  return header instanceof LazyHeaders && header.untouched
}

type AddHeaders = (headers: HeaderList, response: Message, input: ReplyInput) => void

/** Compiles the headers that come from fields: those of the method option, and those of paging. */
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
 * The value of a scalar field as text; undefined for zero, false, the empty string and an unset
 * member of a oneof.
 */
function textUnlessDefault(field: DescField, value: unknown): string | undefined {
  // With `jstype`, a 64-bit zero is a text too.
  if (!value || (value === '0' && field.scalar !== ScalarType.STRING)) return undefined
  return String(value)
}

/** The status of a successful answer: what the call has set, or what is declared. */
export function statusOf({ values }: RestContext, declared: number): number {
  const status = values.get(successStatus)
  if (status === undefined) return declared
  if (isSuccessStatus(status)) return status
  throw new Error(`success status ${status} is not from 200 to 399`)
}

/** Throws ResourceExhausted, as the RPC protocols do, for content larger than the server sends. */
export function checkSize(body: string | Uint8Array, maxBytes: number): void {
  // Three bytes of UTF-8 are the most that one UTF-16 unit becomes.
  if (body.length * 3 <= maxBytes) return
  const size = byteLength(body)
  if (size <= maxBytes) return
  throw new ConnectError(
    `message size ${size} is larger than ${maxBytes} bytes`,
    Code.ResourceExhausted,
  )
}

/**
 * A weak tag: the same message in another content coding has it too. SHA-1 tells versions apart, no
 * more is needed.
 */
function weakTag(body: string | Uint8Array): string {
  return `W/"${hash('sha1', body, 'base64url')}"`
}

/** Metadata of content that is not sent (RFC 9110 15.4.5). */
const contentMetadata = new Set([
  'content-disposition',
  'content-language',
  'content-range',
  'last-modified',
])

/** The answer to a client that has the content. */
export function notModified(headers: HeaderList): Reply {
  const kept: HeaderList = []
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = headers.slice(i, i + 2)
    if (!contentMetadata.has(name.toLowerCase())) kept.push(name, value)
  }
  return { status: 304, headers: kept, body: undefined, contentType: '' }
}
