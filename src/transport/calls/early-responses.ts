import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { create, toBinary, toJson } from '@bufbuild/protobuf'
import { base64Encode } from '@bufbuild/protobuf/wire'
import { anyPack } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect'
import { type ErrorInfo, ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '#gen/google/rpc/status_pb.ts'
import { ERROR_DOMAIN } from '../errors/index.ts'
import type { TransportReason } from '../errors/refusal.ts'
import { begunKey } from './context-values.ts'

type UniversalHandler = ConnectRouter['handlers'][number]
type UniversalResponse = Awaited<ReturnType<UniversalHandler>>

/** Set on a gRPC-Web frame that holds trailers (the PROTOCOL-WEB document of the gRPC project). */
const TRAILER_FLAG = 0x80
const FRAME_HEADER_BYTES = 5

/** The setting of the operator that limits messages. */
const MESSAGE_LIMIT = '--max-message-bytes'
const LIBRARY_LIMIT = /configured readMaxBytes/
const REST_LIMIT = /^(the request content is larger than )(\d+) bytes$/

/** A refusal by the protocol library, as clients shall see it. */
interface Unread {
  readonly code: Code
  readonly reason: TransportReason
}

const MALFORMED: Unread = { code: Code.InvalidArgument, reason: 'MALFORMED_REQUEST' }

/**
 * What the library's codes mean while it reads a request. It has INTERNAL for protobuf that ends
 * too early and for a compressed message without a coding, which are the client's doing and no
 * fault of the server.
 */
const UNREAD: ReadonlyMap<Code, Unread> = new Map([
  [Code.InvalidArgument, MALFORMED],
  [Code.Internal, MALFORMED],
  [Code.ResourceExhausted, { code: Code.ResourceExhausted, reason: 'REQUEST_TOO_LARGE' }],
])

/** The same by the names that the Connect protocol has for codes. */
const UNREAD_BY_NAME: ReadonlyMap<string, Unread> = new Map(
  Array.from(UNREAD, ([code, unread]) => [connectName(code), unread]),
)

/** What codes mean where REST itself raises them. */
const REST_REASONS: ReadonlyMap<Code, TransportReason> = new Map([
  [Code.DeadlineExceeded, 'DEADLINE_EXCEEDED'],
  [Code.InvalidArgument, 'MALFORMED_REQUEST'],
  [Code.ResourceExhausted, 'REQUEST_TOO_LARGE'],
  [Code.NotFound, 'UNKNOWN_PATH'],
  [Code.Unimplemented, 'METHOD_NOT_ALLOWED'],
])

/** On REST answers, since the bodies that clients of forges know have no place for a reason. */
export const REASON_HEADER = 'x-error-reason'

/**
 * Gives the errors that REST itself raises the reason that every refusal of ours carries, and every
 * error the header that says its reason.
 */
export function explainRestError(error: ConnectError): void {
  const explained = reasonOf(error)
  const reason = explained ?? REST_REASONS.get(error.code)
  if (reason === undefined) return
  if (explained === undefined)
    error.details.push({ desc: ErrorInfoSchema, value: infoOf(reason as TransportReason) })
  if (reason === 'REQUEST_TOO_LARGE')
    Object.assign(error, { rawMessage: nameLimit(error.rawMessage) })
  error.metadata.set(REASON_HEADER, reason)
}

/**
 * Passes on the messages of a stream of requests. Gives the error by which the library refuses one
 * of them as too large the reason, too: the call has begun, so that nothing else completes its
 * answer.
 */
export async function* explainMessages<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* messages
  } catch (error) {
    if (!(error instanceof ConnectError) || !LIBRARY_LIMIT.test(error.rawMessage)) throw error
    const details = [{ desc: ErrorInfoSchema, value: infoOf('REQUEST_TOO_LARGE') }]
    throw new ConnectError(
      nameLimit(error.rawMessage),
      Code.ResourceExhausted,
      undefined,
      details,
      error,
    )
  }
}

/**
 * The library names its own setting, and REST, which has no settings of the server, a number of
 * bytes.
 */
function nameLimit(message: string): string {
  return message.replace(LIBRARY_LIMIT, MESSAGE_LIMIT).replace(REST_LIMIT, `$1${MESSAGE_LIMIT} $2`)
}

function reasonOf({ details }: ConnectError): string | undefined {
  for (const detail of details) {
    if ('desc' in detail && detail.desc === ErrorInfoSchema)
      return (detail.value as ErrorInfo).reason
  }
  return undefined
}

/**
 * Gives the errors that Connect's protocols raise while they read a request the reason that every
 * refusal of ours carries. The library has no seam between raising and encoding such an error, so
 * the encoded answer is completed.
 */
export function explainRpcErrors(router: ConnectRouter): void {
  for (const [i, handler] of router.handlers.entries()) {
    const isStream =
      handler.method.methodKind === 'server_streaming' ||
      handler.method.methodKind === 'bidi_streaming'
    const explained = async (request: Parameters<UniversalHandler>[0]) => {
      const response = await handler(request)
      if (response.status === 405) {
        return { ...response, header: new Headers({ allow: handler.allowedMethods.join(', ') }) }
      }
      return explain(response, () => request.contextValues?.get(begunKey) ?? false, isStream)
    }
    router.handlers[i] = Object.assign(explained, handler)
  }
}

async function explain(
  response: UniversalResponse,
  hasBegun: () => boolean,
  isStream: boolean,
): Promise<UniversalResponse> {
  const contentType = response.header?.get('content-type') ?? ''
  if (contentType.startsWith('application/grpc-web')) {
    return response.body ? { ...response, body: explainFrames(response.body, hasBegun) } : response
  }
  if (contentType.startsWith('application/grpc')) {
    // Connect waits for the first message or the end before it answers, so the trailers of a
    // refused request are there.
    if (!hasBegun()) explainTrailers(response.trailer)
    spellMessage(response.trailer)
    return isStream && response.body
      ? { ...response, body: endingWell(response.body, response.trailer) }
      : response
  }
  // A call that reached our interceptors says by itself what went wrong.
  if (hasBegun()) return response
  if (response.status >= 400 && contentType === 'application/json') return explainJson(response)
  return response
}

/** Passes a stream on, which may fail behind its first message. */
async function* endingWell(
  body: AsyncIterable<Uint8Array>,
  trailers: Headers | undefined,
): AsyncGenerator<Uint8Array> {
  yield* body
  spellMessage(trailers)
}

/**
 * Encodes the message of an error no more than gRPC has it, which is what is not printable ASCII,
 * and `%` (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Status-Message). The
 * library encodes it like a part of a URL, and grpc-js leaves some of that as it is, so that people
 * would read `users%2Fbob`.
 */
function spellMessage(trailers: Headers | undefined): void {
  const encoded = trailers?.get('grpc-message')
  if (!encoded) return
  const message = decodeURIComponent(encoded)
  trailers?.set('grpc-message', message.replace(/[^ -$&-~]+/g, encodeURIComponent))
}

function explainTrailers(trailers: Headers | undefined): void {
  const unread = UNREAD.get(Number(trailers?.get('grpc-status') ?? 0))
  if (!trailers || !unread) return
  const { code, reason } = unread
  const message = nameLimit(decodeURIComponent(trailers.get('grpc-message') ?? ''))
  const status = create(StatusSchema, {
    code,
    message,
    details: [anyPack(ErrorInfoSchema, infoOf(reason))],
  })
  trailers.set('grpc-status', String(code))
  trailers.set('grpc-message', encodeURIComponent(message))
  trailers.set('grpc-status-details-bin', base64Encode(toBinary(StatusSchema, status), 'std_raw'))
}

async function* explainFrames(
  frames: AsyncIterable<Uint8Array>,
  hasBegun: () => boolean,
): AsyncGenerator<Uint8Array> {
  for await (const frame of frames) {
    const isTrailer = ((frame[0] ?? 0) & TRAILER_FLAG) !== 0
    yield isTrailer ? explainTrailerFrame(frame, hasBegun()) : frame
  }
}

function explainTrailerFrame(frame: Uint8Array, hasBegun: boolean): Uint8Array {
  const trailers = new Headers()
  for (const line of new TextDecoder().decode(frame.subarray(FRAME_HEADER_BYTES)).split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) trailers.append(line.slice(0, colon).trim(), line.slice(colon + 1).trim())
  }
  if (!hasBegun) explainTrailers(trailers)
  spellMessage(trailers)
  const text = Array.from(trailers, ([name, value]) => `${name}: ${value}\r\n`).join('')
  const explained = Buffer.alloc(FRAME_HEADER_BYTES + Buffer.byteLength(text))
  explained[0] = TRAILER_FLAG
  explained.writeUInt32BE(explained.length - FRAME_HEADER_BYTES, 1)
  explained.write(text, FRAME_HEADER_BYTES)
  return explained
}

/** Error bodies of the Connect protocol (https://connectrpc.com/docs/protocol#error-end-stream). */
async function explainJson(response: UniversalResponse): Promise<UniversalResponse> {
  const error: { code: string; message?: string; details?: unknown[] } = JSON.parse(
    await text(response.body ?? Readable.from([])),
  )
  const unread = UNREAD_BY_NAME.get(error.code)
  if (unread) {
    const info = infoOf(unread.reason)
    const value = base64Encode(toBinary(ErrorInfoSchema, info), 'std_raw')
    error.code = connectName(unread.code)
    error.message = nameLimit(error.message ?? '')
    error.details = [
      { type: ErrorInfoSchema.typeName, value, debug: toJson(ErrorInfoSchema, info) },
    ]
  }
  const body = Buffer.from(JSON.stringify(error))
  response.header?.set('content-length', String(body.length))
  return {
    ...response,
    status: unread === MALFORMED ? 400 : response.status,
    body: Readable.from([body]),
  }
}

function infoOf(reason: TransportReason): ErrorInfo {
  return create(ErrorInfoSchema, { reason, domain: ERROR_DOMAIN })
}

/** The name of a code in the Connect protocol, its own in snake_case. */
function connectName(code: Code): string {
  return Code[code].replace(/\B[A-Z]/g, '_$&').toLowerCase()
}
