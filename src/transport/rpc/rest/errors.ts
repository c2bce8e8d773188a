import type { DescMessage, Message, Registry } from '@bufbuild/protobuf'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { base64Encode } from '@bufbuild/protobuf/wire'
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import type { HttpStatus } from '#gen/branchline/rest/v1/rest_pb.ts'
import { HttpStatusSchema } from '#gen/branchline/rest/v1/rest_pb.ts'
import { codeToHttpStatus } from '../exchange/connect-internals.ts'
import { isHeaderName } from '../exchange/header-list.ts'
import type { Dialect } from './schema/dialect.ts'
import { compileWriter } from './text/json-write.ts'

/** What error answers of a service look like. */
export interface ErrorStyle {
  readonly dialect: Dialect
  /** The types that details may have. */
  readonly registry: Registry
  /** Whether messages of 500s are shown where the dialect hides them. */
  readonly development: boolean
  /** Completes an error before it is written. */
  readonly completeError: ((error: ConnectError) => void) | undefined
}

/** An error as an HTTP answer. */
export interface ErrorReply {
  readonly status: number
  /** Headers that the error itself asks for. */
  readonly headers: Iterable<readonly [name: string, value: string]>
  /** Undefined for none. */
  readonly body: string | undefined
}

/** No template matches the path. */
export function noSuchRoute(path: string): ConnectError {
  return new ConnectError(`no such path: ${path}`, Code.NotFound)
}

/** Templates match the path, none serves the method. `allow` lists the methods that are served. */
export function methodNotAllowed(httpMethod: string, allow: readonly string[]): ConnectError {
  return httpError(405, Code.Unimplemented, `${httpMethod} is not served here`, {
    Allow: allow.join(', '),
  })
}

/** Content, or what it decodes to, is larger than the server reads. */
export function contentTooLarge(maxBytes: number): ConnectError {
  return httpError(
    413,
    Code.ResourceExhausted,
    `the request content is larger than ${maxBytes} bytes`,
  )
}

/** The request target is longer than the server reads. */
export function targetTooLong(maxBytes: number): ConnectError {
  return httpError(414, Code.InvalidArgument, `the request target is longer than ${maxBytes} bytes`)
}

/** Content of a type that is not read (RFC 9110 15.5.16). */
export function unsupportedMediaType(contentType: string): ConnectError {
  return httpError(415, Code.InvalidArgument, `unsupported media type: ${contentType}`, {
    Accept: 'application/json, application/*+json',
  })
}

/** Content in a coding that is not read (RFC 9110 15.5.16). */
export function unsupportedCoding(name: string, available: readonly string[]): ConnectError {
  return httpError(415, Code.InvalidArgument, `unsupported content coding: ${name}`, {
    'Accept-Encoding': [...available, 'identity'].join(', '),
  })
}

/**
 * An error whose HTTP status is not that of its code. The detail that says so also serves
 * implementations.
 */
function httpError(
  status: number,
  code: Code,
  message: string,
  headers: Record<string, string> = {},
): ConnectError {
  return new ConnectError(message, code, undefined, [
    { desc: HttpStatusSchema, value: { status, headers } },
  ])
}

/** A thrown value as the error that clients see. What is no RPC error stays behind as `cause`. */
export function asConnectError(thrown: unknown): ConnectError {
  if (thrown instanceof ConnectError) return thrown
  return new ConnectError('internal error', Code.Internal, undefined, undefined, thrown)
}

/** The status, headers and body that an error is answered with. */
export function encodeError(error: ConnectError, style: ErrorStyle): ErrorReply {
  style.completeError?.(error)
  const http = httpStatusOf(error)
  const status =
    http?.status ?? style.dialect.errorStatus.get(error.code) ?? codeToHttpStatus(error.code)
  const headers = Object.entries(http?.headers ?? {}).filter(([name]) => isHeaderName(name))
  if (http?.noContent) return { status, headers, body: undefined }
  if (http?.body !== undefined) return { status, headers, body: JSON.stringify(http.body) }
  const body =
    style.dialect.errors === 'messageUrl'
      ? messageUrl(error, status, style)
      : encodeStatus(error, style)
  return { status, headers, body }
}

function messageUrl(
  error: ConnectError,
  status: number,
  { dialect, development }: ErrorStyle,
): string {
  const message = status === 500 && !development ? '' : error.rawMessage
  return JSON.stringify({ message, url: dialect.errorUrl })
}

/**
 * An error as google.rpc.Status in JSON. Unlike other messages it always has its first two members.
 */
export function encodeStatus(error: ConnectError, { dialect, registry }: ErrorStyle): string {
  const details = error.details
    .filter((detail) => typeNameOf(detail) !== HttpStatusSchema.typeName)
    .map((detail) => encodeDetail(detail, dialect, registry))
  const status = `{"code":${error.code},"message":${JSON.stringify(error.rawMessage)}`
  return details.length === 0 ? `${status}}` : `${status},"details":[${details.join(',')}]}`
}

type Detail = ConnectError['details'][number]

function typeNameOf(detail: Detail): string {
  return 'desc' in detail ? detail.desc.typeName : detail.type
}

function httpStatusOf(error: ConnectError): HttpStatus | undefined {
  const [detail] = error.findDetails(HttpStatusSchema)
  // A detail may come from anywhere; a status that is no error or redirect would break the
  // connection.
  return detail !== undefined && detail.status >= 300 && detail.status <= 599 ? detail : undefined
}

/** A detail as google.protobuf.Any in JSON. What cannot be printed keeps its bytes. */
function encodeDetail(detail: Detail, dialect: Dialect, registry: Registry): string {
  const typeName = typeNameOf(detail)
  const type = `"@type":${JSON.stringify(`type.googleapis.com/${typeName}`)}`
  const desc = 'desc' in detail ? detail.desc : registry.getMessage(typeName)
  try {
    if (desc === undefined) return anyOfBytes(type, detail)
    const message =
      'desc' in detail ? create(detail.desc, detail.value) : fromBinary(desc, detail.value)
    return anyOf(type, desc, message, dialect, registry)
  } catch {
    // An Any of an unknown type inside a detail, or bytes of another version: not worth failing an
    // error for.
    return anyOfBytes(type, detail)
  }
}

function anyOf(
  type: string,
  desc: DescMessage,
  message: Message,
  dialect: Dialect,
  registry: Registry,
): string {
  const json = compileWriter(desc, dialect, registry)(message)
  if (hasCustomJsonRepresentation(desc)) return `{${type},"value":${json}}`
  return json === '{}' ? `{${type}}` : `{${type},${json.slice(1)}`
}

function anyOfBytes(type: string, detail: Detail): string {
  const bytes =
    'desc' in detail ? toBinary(detail.desc, create(detail.desc, detail.value)) : detail.value
  return `{${type},"value":${JSON.stringify(base64Encode(bytes))}}`
}
