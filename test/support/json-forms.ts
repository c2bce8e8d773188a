import { connect as connectHttp2 } from 'node:http2'
import { gzipSync } from 'node:zlib'
import { fromBinary } from '@bufbuild/protobuf'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '#gen/google/rpc/status_pb.ts'

/** How a call ended. */
export interface JsonOutcome {
  /** Code of gRPC, 0 for success. */
  readonly code: number
  /** Of ErrorInfo. */
  readonly reason: string | undefined
  readonly metadata: Readonly<Record<string, string>> | undefined
  /** The first message of the answer, if there is one. */
  readonly message: unknown
}

/** Makes a call with a request in JSON. */
export type JsonForm = (
  url: string,
  rpcPath: string,
  json: string,
  headers?: Readonly<Record<string, string>>,
) => Promise<JsonOutcome>

/** Every form in which a unary call sends JSON, GET aside. */
export const UNARY_JSON_FORMS: ReadonlyMap<string, JsonForm> = new Map([
  ['Connect', connectPost],
  ['gRPC+JSON', grpc(false)],
  ['gRPC+JSON, compressed', grpc(true)],
  ['gRPC-Web+JSON', grpcWeb],
])

/** Those of calls without side effects besides. */
export const QUERY_JSON_FORMS: ReadonlyMap<string, JsonForm> = new Map([
  ['Connect GET', connectGet((json) => ({ message: json }))],
  [
    'Connect GET in base64',
    connectGet((json) => ({ message: Buffer.from(json).toString('base64url'), base64: '1' })),
  ],
  [
    'Connect GET, compressed',
    connectGet((json) => ({
      message: gzipSync(json).toString('base64url'),
      base64: '1',
      compression: 'gzip',
    })),
  ],
])

/** Every form in which a stream has JSON. Only what ends by itself is for these. */
export const STREAM_JSON_FORMS: ReadonlyMap<string, JsonForm> = new Map([
  ['Connect', connectStream],
  ['gRPC+JSON', grpc(false)],
  ['gRPC-Web+JSON', grpcWeb],
])

/** The frame of one message: flags, length, bytes. */
function frame(text: string, compressed = false): Buffer {
  const bytes = compressed ? gzipSync(text) : Buffer.from(text)
  const head = Buffer.alloc(5)
  head[0] = compressed ? 1 : 0
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}

/** The frames of a body, each with its flags. */
function framesOf(body: Buffer): { flags: number; text: string }[] {
  const frames: { flags: number; text: string }[] = []
  for (let at = 0; at + 5 <= body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1)
    frames.push({ flags: body[at] ?? 0, text: body.subarray(at + 5, end).toString() })
    at = end
  }
  return frames
}

/** https://connectrpc.com/docs/protocol#error-codes, in the order of their numbers. */
const CONNECT_CODES = [
  'canceled',
  'unknown',
  'invalid_argument',
  'deadline_exceeded',
  'not_found',
  'already_exists',
  'permission_denied',
  'resource_exhausted',
  'failed_precondition',
  'aborted',
  'out_of_range',
  'unimplemented',
  'internal',
  'unavailable',
  'data_loss',
  'unauthenticated',
]

interface ConnectError {
  readonly code: string
  readonly details?: readonly {
    type: string
    debug?: { reason: string; metadata?: Record<string, string> }
  }[]
}

function connectOutcome(error: ConnectError | undefined, message: unknown): JsonOutcome {
  const info = error?.details?.find(({ type }) => type === 'google.rpc.ErrorInfo')?.debug
  const code = error ? CONNECT_CODES.indexOf(error.code) + 1 : 0
  return { code, reason: info?.reason, metadata: info?.metadata, message }
}

const CONNECT_VERSION = { 'connect-protocol-version': '1' }

async function connectPost(
  url: string,
  rpcPath: string,
  json: string,
  headers = {},
): Promise<JsonOutcome> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...CONNECT_VERSION, ...headers },
    body: json,
  }
  const response = await fetch(url + rpcPath, init)
  const content = (await response.json()) as ConnectError
  return connectOutcome(response.ok ? undefined : content, content)
}

function connectGet(queryOf: (json: string) => Record<string, string>): JsonForm {
  return async (url, rpcPath, json, headers = {}) => {
    const query = new URLSearchParams({ connect: 'v1', encoding: 'json', ...queryOf(json) })
    const response = await fetch(`${url}${rpcPath}?${query}`, { headers })
    const content = (await response.json()) as ConnectError
    return connectOutcome(response.ok ? undefined : content, content)
  }
}

async function connectStream(
  url: string,
  rpcPath: string,
  json: string,
  headers = {},
): Promise<JsonOutcome> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/connect+json', ...CONNECT_VERSION, ...headers },
  }
  const response = await fetch(url + rpcPath, { ...init, body: frame(json) })
  const frames = framesOf(Buffer.from(await response.arrayBuffer()))
  const message = frames.find(({ flags }) => flags === 0)?.text
  const end = JSON.parse(frames.at(-1)?.text ?? '{}') as { error?: ConnectError }
  return connectOutcome(end.error, message === undefined ? undefined : JSON.parse(message))
}

function grpcOutcome(status: unknown, details: unknown, frames: { text: string }[]): JsonOutcome {
  const [any] =
    typeof details === 'string'
      ? fromBinary(StatusSchema, Buffer.from(details, 'base64')).details
      : []
  const info = any && anyUnpack(any, ErrorInfoSchema)
  const [first] = frames
  return {
    code: Number(status),
    reason: info?.reason,
    metadata: info?.metadata,
    message: first && JSON.parse(first.text),
  }
}

async function grpcWeb(
  url: string,
  rpcPath: string,
  json: string,
  headers = {},
): Promise<JsonOutcome> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/grpc-web+json', ...headers },
    body: frame(json),
  }
  const frames = framesOf(Buffer.from(await (await fetch(url + rpcPath, init)).arrayBuffer()))
  const trailers = frames.at(-1)?.text ?? ''
  const trailer = (name: string) => new RegExp(`^${name}: *(\\S+)`, 'm').exec(trailers)?.[1]
  return grpcOutcome(
    trailer('grpc-status'),
    trailer('grpc-status-details-bin'),
    frames.slice(0, -1),
  )
}

function grpc(compressed: boolean): JsonForm {
  return async (url, rpcPath, json, headers = {}) => {
    const session = connectHttp2(url)
    try {
      const stream = session.request({
        ':method': 'POST',
        ':path': rpcPath,
        'content-type': 'application/grpc+json',
        te: 'trailers',
        ...(compressed && { 'grpc-encoding': 'gzip' }),
        ...headers,
      })
      const chunks: Buffer[] = []
      let trailers: Record<string, unknown> = {}
      await new Promise<void>((resolve, reject) => {
        stream.on('response', (head) => {
          trailers = head
        })
        stream.on('trailers', (received) => {
          trailers = received
        })
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('error', reject).on('close', resolve).end(frame(json, compressed))
      })
      return grpcOutcome(
        trailers['grpc-status'],
        trailers['grpc-status-details-bin'],
        framesOf(Buffer.concat(chunks)),
      )
    } finally {
      session.destroy()
    }
  }
}
