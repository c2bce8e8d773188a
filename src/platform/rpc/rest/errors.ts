import { create, fromBinary, type Registry, toBinary } from '@bufbuild/protobuf'
import type { ConnectError } from '@connectrpc/connect'
import { type HttpStatus, HttpStatusSchema } from '#gen/rest/v1/rest_pb.ts'
import { codeToHttpStatus } from '../exchange/connect-internals.ts'
import { isHeaderName } from '../exchange/headers.ts'
import { compileWriter, printAny, printBytes } from '../text/json-write.ts'
import type { Dialect } from './schema/dialect.ts'

/** The form of the error responses of a service. */
export interface ErrorStyle {
  readonly dialect: Dialect
  /** The types of details. */
  readonly registry: Registry
  /** Whether a dialect that hides the messages of internal errors shows them. */
  readonly development: boolean
  /** Changes an error before it is written. */
  readonly completeError: ((error: ConnectError, protocolName: string) => void) | undefined
}

/** An error as an HTTP response. */
interface ErrorReply {
  readonly status: number
  /** Headers from the HttpStatus detail of the error. */
  readonly headers: Iterable<readonly [name: string, value: string]>
  /** Undefined for a response without content. */
  readonly body: string | undefined
}

/** Returns an error as an HTTP response in the style of a service. */
export function encodeError(error: ConnectError, style: ErrorStyle): ErrorReply {
  style.completeError?.(error, 'rest')
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
 * Returns an error as google.rpc.Status in JSON. Unlike other messages, `code` and `message` are
 * always present.
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
  // An implementation may set any status. One outside of this range would break the connection.
  return detail !== undefined && detail.status >= 300 && detail.status <= 599 ? detail : undefined
}

/** Returns a detail as google.protobuf.Any in JSON. An unprintable detail has its bytes. */
function encodeDetail(detail: Detail, dialect: Dialect, registry: Registry): string {
  const typeName = typeNameOf(detail)
  const typeUrl = `type.googleapis.com/${typeName}`
  const desc = 'desc' in detail ? detail.desc : registry.getMessage(typeName)
  try {
    if (desc !== undefined) {
      const message =
        'desc' in detail ? create(detail.desc, detail.value) : fromBinary(desc, detail.value)
      return printAny(typeUrl, desc, compileWriter(desc, dialect, registry)(message))
    }
  } catch {
    // The detail contains an Any of an unknown type, or its bytes are of another version.
  }
  const bytes =
    'desc' in detail ? toBinary(detail.desc, create(detail.desc, detail.value)) : detail.value
  return printAny(typeUrl, undefined, printBytes(bytes))
}
