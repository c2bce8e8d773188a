import { type DescField, type Message, type Registry, ScalarType } from '@bufbuild/protobuf'
import { type ConnectError, createContextKey } from '@connectrpc/connect'
import type { CallContext } from '../exchange/context.ts'
import { checkSize } from '../exchange/formats.ts'
import { findHeader, type HeaderList, headerValue } from '../exchange/headers.ts'
import { metadataOf } from '../exchange/metadata.ts'
import { tagMatches } from '../exchange/negotiate.ts'
import { hasNoContent, type Reply } from '../exchange/node.ts'
import { type Cancellable, sha1InTurns, textInTurns } from '../exchange/write-turns.ts'
import { compileGetter } from '../text/field-value.ts'
import { compileFieldPartsWriter, compilePartsWriter } from '../text/json-write.ts'
import { fieldNamed } from '../text/message-fields.ts'
import { type ErrorStyle, encodeError } from './errors.ts'
import { httpBodyGetter, OCTET_STREAM } from './request/http-body.ts'
import type { Binding, Paging } from './schema/binding.ts'
import { isSuccessStatus } from './schema/dialect.ts'
import { decodeForm } from './schema/template.ts'

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
interface ReplyInput {
  readonly context: CallContext
  readonly request: Message
  /** The request target as received. */
  readonly target: string
  readonly ifNoneMatch: string | undefined
  /** Returns the base of the URLs in `Link`. */
  readonly baseUrl: () => string
}

/** Creates the response from the response message of a unary call. */
export type ReplyWriter = (response: Message, input: ReplyInput) => Promise<Reply>

/** Creates the content of a response. Returns a promise only for large content. */
export type ContentWriter = (
  response: Message,
  call: Cancellable,
) => ReplyContent | Promise<ReplyContent>

/** Compiles the writer of response content: JSON, or the raw data of an HttpBody. */
export function compileContent(binding: Binding, registry: Registry): ContentWriter {
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
      ? compilePartsWriter(rpc.output, dialect, registry)
      : compileFieldPartsWriter(field, dialect, registry)
  const contentOf = (parts: Generator<string>, call: Cancellable) => {
    const body = textInTurns(parts, call)
    return body instanceof Promise
      ? body.then((bytes) => ({ body: bytes, contentType }))
      : { body, contentType }
  }
  if (singleBody === undefined) return (response, call) => contentOf(write(response), call)
  const single = compileGetter(singleBody)
  const writeSingle = compileFieldPartsWriter(singleBody, dialect, registry)
  return (response, call) =>
    contentOf((single(response) === undefined ? write : writeSingle)(response), call)
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
  return async (response, input) => {
    const { context } = input
    const status = statusOf(context, binding.successStatus)
    const headers = metadataOf(context.responseHeader, context.responseTrailer)
    addFields(headers, response, input)
    if (isBodiless || (hasNoContent(status) && !isDeclared(binding, status)))
      return { status, headers, body: undefined, contentType: '' }

    const written = contentOf(response, context)
    const content = written instanceof Promise ? await written : written
    checkSize(content.body, maxBytes)
    const contentType = (isRaw && context.responseHeader.get('content-type')) || content.contentType
    const tagged =
      status === 200 && (context.requestMethod === 'GET' || context.requestMethod === 'HEAD')
    if (!tagged) return { status, headers, body: content.body, contentType }

    let tag = findHeader(headers, 'etag')
    if (tag === undefined && dialect.etag) {
      const digest = sha1InTurns(content.body, context)
      tag = weakTag(digest instanceof Promise ? await digest : digest)
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
function weakTag(sha1: string): string {
  return `W/"${sha1}"`
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

/** The headers of one page of a list. */
interface PagingHeaders {
  /** `X-Total-Count`. */
  readonly total: string
  /** `Link` (RFC 8288). Undefined if there is only one page. */
  readonly link: string | undefined
}

/**
 * Returns the headers of a page.
 *
 * @param url URL of the request.
 */
type PageWriter = (request: Message, response: Message, url: string) => PagingHeaders

/**
 * Compiles the paging headers of a method.
 *
 * @param spelling spelling of the page parameter in links if the request URL lacks it.
 */
export function compilePaging(paging: Paging, spelling: 'lowerCamel' | 'original'): PageWriter {
  const total = integerGetter(paging.total)
  const page = integerGetter(paging.page)
  const limit = integerGetter(paging.limit)
  const appliedLimit = paging.appliedLimit && integerGetter(paging.appliedLimit)
  const parameter: PageParameter = {
    names: [paging.page.name, paging.page.jsonName],
    added: spelling === 'original' ? paging.page.name : paging.page.jsonName,
  }
  return (request, response, url) => {
    const count = total(response)
    const size = appliedLimit?.(response) || limit(request)
    return {
      total: String(count),
      link: linkTo(url, parameter, page(request), lastPage(count, size)),
    }
  }
}

/** The names of the page parameter. */
interface PageParameter {
  readonly names: readonly string[]
  readonly added: string
}

function integerGetter(field: DescField): (message: Message) => bigint {
  const get = compileGetter(field)
  // The value is a number, a bigint, a decimal string with `jstype`, or undefined for an unset
  // member of a oneof.
  return (message) => BigInt((get(message) as bigint | number | string | undefined) ?? 0)
}

function lastPage(count: bigint, size: bigint): bigint {
  return size <= 0n ? 1n : (count + size - 1n) / size
}

function linkTo(
  url: string,
  parameter: PageParameter,
  requested: bigint,
  last: bigint,
): string | undefined {
  if (last <= 1n) return undefined
  const page = requested < 1n ? 1n : requested
  const links: string[] = []
  const add = (number: bigint, relation: string) => {
    links.push(`<${withPage(url, parameter, number)}>; rel="${relation}"`)
  }
  if (page < last) {
    add(page + 1n, 'next')
    add(last, 'last')
  }
  if (page > 1n) {
    add(1n, 'first')
    // The page before one beyond the end is the last page.
    add(page > last ? last : page - 1n, 'prev')
  }
  return links.join(',')
}

/** Returns the URL with another page. The rest of the URL stays as received. */
function withPage(url: string, { names, added }: PageParameter, page: bigint): string {
  const question = url.indexOf('?')
  if (question < 0) return `${url}?${added}=${page}`
  let replaced = false
  const pairs = url.slice(question + 1).split('&')
  const kept = pairs.map((pair) => {
    const name = pair.split('=', 1)[0] ?? ''
    if (!names.includes(decodeForm(name) ?? '')) return pair
    replaced = true
    return `${name}=${page}`
  })
  if (!replaced) kept.push(`${added}=${page}`)
  return `${url.slice(0, question)}?${kept.filter((pair) => pair !== '').join('&')}`
}

/** Characters that are invalid in a URI (RFC 3986) and would end it inside `<` and `>`. */
const unfitForLink = /[^\x21-\x7e]|[<>"\\^`{|}]/g

/**
 * Returns the URL of a request for links: the public base URL of the server with path and query as
 * received. Node returns bytes beyond ASCII as Latin-1; they are percent-encoded.
 */
export function publicRequestUrl(base: string, target: string): string {
  const slash = target.startsWith('/') ? 0 : target.indexOf('/', target.indexOf('://') + 3)
  const pathAndQuery = (slash < 0 ? '' : target.slice(slash)).replace(unfitForLink, (unfit) => {
    return `%${unfit.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  })
  return (base.endsWith('/') ? base.slice(0, -1) : base) + pathAndQuery
}
