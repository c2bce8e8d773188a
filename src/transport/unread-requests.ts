import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { create, toBinary, toJson } from '@bufbuild/protobuf'
import { base64Encode } from '@bufbuild/protobuf/wire'
import { anyPack } from '@bufbuild/protobuf/wkt'
import { Code, type ConnectError, type ConnectRouter } from '@connectrpc/connect'
import { type ErrorInfo, ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '#gen/google/rpc/status_pb.ts'
import { ERROR_DOMAIN, type TransportReason } from './errors.ts'

type UniversalHandler = ConnectRouter['handlers'][number]
type UniversalResponse = Awaited<ReturnType<UniversalHandler>>

/** Set on a gRPC-Web frame that holds trailers (the PROTOCOL-WEB document of the gRPC project). */
const TRAILER_FLAG = 0x80
const FRAME_HEADER_BYTES = 5

/**
 * Why a request was refused before any handler or interceptor saw it, by the code that the protocol library gave it;
 * undefined for codes that say everything.
 */
const REASONS: ReadonlyMap<Code, TransportReason> = new Map([
  [Code.InvalidArgument, 'MALFORMED_REQUEST'],
  [Code.ResourceExhausted, 'REQUEST_TOO_LARGE'],
])

/** The same codes as the Connect protocol spells them. */
const CONNECT_CODES: ReadonlyMap<string, Code> = new Map([
  ['invalid_argument', Code.InvalidArgument],
  ['resource_exhausted', Code.ResourceExhausted],
])

/** The same for REST, which also has paths and methods that may not exist. */
const REST_REASONS: ReadonlyMap<Code, TransportReason> = new Map([
  ...REASONS,
  [Code.NotFound, 'UNKNOWN_PATH'],
  [Code.Unimplemented, 'METHOD_NOT_ALLOWED'],
])

/** Gives the errors that REST itself raises the reason that every refusal of ours carries. */
export function explainRestError(error: ConnectError): void {
  const info = infoOf(REST_REASONS.get(error.code))
  const explained = error.details.some((detail) => 'desc' in detail && detail.desc === ErrorInfoSchema)
  if (info && !explained) error.details.push({ desc: ErrorInfoSchema, value: info })
}

/**
 * Gives the errors that Connect's protocols raise while they read a request the reason that every refusal of ours
 * carries. The library has no seam between raising and encoding such an error, so the encoded answer is completed.
 */
export function explainRpcErrors(router: ConnectRouter): void {
  for (const [i, handler] of router.handlers.entries()) {
    const explained = async (request: Parameters<UniversalHandler>[0]) => explain(await handler(request))
    router.handlers[i] = Object.assign(explained, handler)
  }
}

async function explain(response: UniversalResponse): Promise<UniversalResponse> {
  const contentType = response.header?.get('content-type') ?? ''
  if (contentType.startsWith('application/grpc-web')) {
    return response.body ? { ...response, body: explainFrames(response.body) } : response
  }
  // Connect waits for the first message or the end before it answers, so the trailers of a refused request are there.
  if (contentType.startsWith('application/grpc')) explainTrailers(response.trailer)
  else if (response.status >= 400 && contentType === 'application/json') return explainJson(response)
  return response
}

function explainTrailers(trailers: Headers | undefined): void {
  const code = Number(trailers?.get('grpc-status') ?? 0)
  const info = infoOf(REASONS.get(code))
  if (!trailers || !info || trailers.has('grpc-status-details-bin')) return
  const message = decodeURIComponent(trailers.get('grpc-message') ?? '')
  const status = create(StatusSchema, { code, message, details: [anyPack(ErrorInfoSchema, info)] })
  trailers.set('grpc-status-details-bin', base64Encode(toBinary(StatusSchema, status), 'std_raw'))
}

async function* explainFrames(frames: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const frame of frames) yield (frame[0] ?? 0) & TRAILER_FLAG ? explainTrailerFrame(frame) : frame
}

function explainTrailerFrame(frame: Uint8Array): Uint8Array {
  const trailers = new Headers()
  for (const line of new TextDecoder().decode(frame.subarray(FRAME_HEADER_BYTES)).split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) trailers.append(line.slice(0, colon).trim(), line.slice(colon + 1).trim())
  }
  explainTrailers(trailers)
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
  const info = infoOf(REASONS.get(CONNECT_CODES.get(error.code) ?? Code.Unknown))
  if (info && !error.details) {
    const value = base64Encode(toBinary(ErrorInfoSchema, info), 'std_raw')
    error.details = [{ type: ErrorInfoSchema.typeName, value, debug: toJson(ErrorInfoSchema, info) }]
  }
  const body = Buffer.from(JSON.stringify(error))
  response.header?.set('content-length', String(body.length))
  return { ...response, body: Readable.from([body]) }
}

function infoOf(reason: TransportReason | undefined): ErrorInfo | undefined {
  return reason && create(ErrorInfoSchema, { reason, domain: ERROR_DOMAIN })
}
