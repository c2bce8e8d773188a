import type { IncomingHttpHeaders } from 'node:http'
import { create, type Message, type Registry, toBinary, toJson } from '@bufbuild/protobuf'
import { base64Decode, base64Encode } from '@bufbuild/protobuf/wire'
import { Code, ConnectError } from '@connectrpc/connect'
import { Call, type CallServer, callUnary, sendReply, serveCall } from '../exchange/call.ts'
import { decompress } from '../exchange/compression.ts'
import { codeToHttpStatus } from '../exchange/connect-internals.ts'
import type { CallContext } from '../exchange/context.ts'
import { messageTooLarge } from '../exchange/errors.ts'
import { checkSize, type MessageFormats } from '../exchange/formats.ts'
import type { HeaderList } from '../exchange/headers.ts'
import type { UnarySpec } from '../exchange/invoke.ts'
import { metadataOf } from '../exchange/metadata.ts'
import type { RpcMethod } from '../exchange/method.ts'
import { connectTimeout, timeoutIn } from '../exchange/negotiate.ts'
import { type HttpExchange, type Reply, readContent, send } from '../exchange/node.ts'
import { namedCoding } from '../framed/call.ts'
import { envelope } from '../framed/envelopes.ts'
import type { FramedProtocol, FramedType } from '../framed/protocol.ts'

/** The encoding of a unary call. */
type UnaryFormat = keyof MessageFormats

const CONTENT_TYPE = /^application\/(?:(json)(?:; ?charset=utf-?8)?|proto)$/i

/** Returns the encoding of a unary call by its Content-Type; undefined for any other content. */
export function unaryFormat(contentType: string): UnaryFormat | undefined {
  if (contentType === 'application/json') return 'json'
  const match = CONTENT_TYPE.exec(contentType)
  return match ? (match[1] === undefined ? 'proto' : 'json') : undefined
}

/** Returns the encoding that the query of a GET names; undefined for an unknown one. */
export function queryFormat(query: URLSearchParams): UnaryFormat | undefined {
  const name = query.get('encoding')
  return name === 'json' || name === 'proto' ? name : undefined
}

/** A unary method. */
export interface UnaryMethod extends RpcMethod {
  readonly spec: UnarySpec
}

/**
 * Answers a unary call over Connect (https://connectrpc.com/docs/protocol#unary-rpcs). Never
 * rejects.
 *
 * @param query of a GET, which has the message; undefined for a POST.
 */
export function serveUnary(
  server: CallServer,
  rpc: UnaryMethod,
  format: UnaryFormat,
  exchange: HttpExchange,
  query?: URLSearchParams,
): Promise<void> {
  const { method, settings, spec } = rpc
  return serveCall<Call>(server, exchange, {
    open(defaults) {
      const { headers } = exchange.request
      if (query) checkVersionParameter(query)
      else checkVersionHeader(headers)
      const timeoutMs = timeoutIn(connectTimeout, headers, settings.maxTimeoutMs)
      const target = { method, protocolName: 'connect', settings }
      return new Call({ server, target, exchange, defaults, timeoutMs })
    },
    async answer(call) {
      const message = await call.cancellation.limit(messageOf(rpc, format, exchange, query))
      const output = await callUnary(call, spec, message)
      await sendReply(call, await replyOf(rpc, format, call.context, output))
    },
    fail(error, call, defaults) {
      failUnary(server, exchange, { error, context: call?.context, defaults })
    },
  })
}

/** A failed call. The context is undefined if the call was not opened. */
interface FailedCall {
  readonly error: ConnectError
  readonly context?: CallContext | undefined
  /** Headers of the response unless the call sets them. */
  readonly defaults: HeaderList
  /** The HTTP status. By default, the one of the error's code. */
  readonly status?: number
}

/** Sends the error of a unary call. */
export function failUnary(
  server: CallServer,
  exchange: HttpExchange,
  { error, context, defaults, status = codeToHttpStatus(error.code) }: FailedCall,
): void {
  server.completeError?.(error, 'connect')
  send(exchange, { ...errorReply(server, error, context), status }, defaults)
}

async function messageOf(
  { formats, settings }: RpcMethod,
  format: UnaryFormat,
  { request }: HttpExchange,
  query: URLSearchParams | undefined,
): Promise<Message> {
  const { readMaxBytes, compressions } = settings
  const name = query ? (query.get('compression') ?? undefined) : request.headers['content-encoding']
  const coding = namedCoding(name, compressions, 'accept-encoding')
  const content = query
    ? contentIn(query)
    : await readContent(request, readMaxBytes, messageTooLarge)
  if (content.length > readMaxBytes) throw messageTooLarge(readMaxBytes)
  const bytes =
    coding === undefined
      ? content
      : await decompress(coding, content, readMaxBytes, messageTooLarge)
  return formats[format].read(bytes)
}

function contentIn(query: URLSearchParams): Uint8Array {
  const text = query.get('message') ?? ''
  if (query.get('base64') !== '1') return Buffer.from(text)
  try {
    return base64Decode(text)
  } catch {
    throw new ConnectError('the parameter message is not base64', Code.InvalidArgument)
  }
}

async function replyOf(
  { formats, settings }: RpcMethod,
  format: UnaryFormat,
  context: CallContext,
  output: Message,
): Promise<Reply> {
  const { responseHeader, responseTrailer } = context
  const body = await formats[format].write(output, context)
  checkSize(body, settings.writeMaxBytes)
  return {
    status: 200,
    headers: metadataOf(responseHeader, responseTrailer),
    body,
    contentType: format === 'json' ? 'application/json' : 'application/proto',
  }
}

function errorReply(
  { registry }: CallServer,
  error: ConnectError,
  context: CallContext | undefined,
): Omit<Reply, 'status'> {
  // Metadata of the error replaces headers that the call set before it failed.
  const merged = new Headers(context?.responseHeader)
  error.metadata.forEach((value, name) => {
    merged.set(name, value)
  })
  return {
    headers: metadataOf(merged, context?.responseTrailer),
    body: JSON.stringify(errorJson(error, registry)),
    contentType: 'application/json',
  }
}

const VERSION = '1'

/** Throws InvalidArgument for an unknown version of the Connect protocol. */
function checkVersionHeader(headers: IncomingHttpHeaders): void {
  const version = headers['connect-protocol-version']
  if (version === undefined || version === VERSION) return
  throw new ConnectError(
    `connect-protocol-version must be "${VERSION}", not "${version}"`,
    Code.InvalidArgument,
  )
}

/** Throws InvalidArgument unless the query of a GET has the version of the Connect protocol. */
function checkVersionParameter(query: URLSearchParams): void {
  const version = query.get('connect')
  if (version === null || version === `v${VERSION}`) return
  throw new ConnectError(
    `the parameter connect must be "v${VERSION}", not "${version}"`,
    Code.InvalidArgument,
  )
}

type Detail = ConnectError['details'][number]

/** An error in JSON (https://connectrpc.com/docs/protocol#error-end-stream). */
interface ErrorJson {
  readonly code: string
  readonly message?: string
  readonly details?: readonly object[]
}

/**
 * Returns an error in the JSON of the Connect protocol.
 *
 * @param registry types of messages in google.protobuf.Any, for the readable form of details.
 */
function errorJson({ code, rawMessage, details }: ConnectError, registry: Registry): ErrorJson {
  return {
    code: nameOf(code),
    ...(rawMessage !== '' && { message: rawMessage }),
    ...(details.length > 0 && { details: details.map((detail) => detailJson(detail, registry)) }),
  }
}

function detailJson(detail: Detail, registry: Registry): object {
  if (!('desc' in detail)) return { ...detail, value: base64Encode(detail.value, 'std_raw') }
  const { desc } = detail
  const message = create(desc, detail.value)
  const value = base64Encode(toBinary(desc, message), 'std_raw')
  try {
    return { type: desc.typeName, debug: toJson(desc, message, { registry }), value }
  } catch {
    // The detail contains an Any of an unknown type. The readable form is optional.
    return { type: desc.typeName, value }
  }
}

/** Returns the name of a code in snake_case. */
function nameOf(code: Code): string {
  return Code[code].replace(/\B[A-Z]/g, '_$&').toLowerCase()
}

/** Flag of the envelope that ends a stream. */
const END_STREAM = 2

const STREAM_CONTENT_TYPE = /^application\/connect\+(?:(json)(?:; ?charset=utf-?8)?|proto)$/i

/**
 * Creates the function that returns the type of the content of a Connect stream by its
 * Content-Type; undefined for any other content
 * (https://connectrpc.com/docs/protocol#streaming-rpcs).
 *
 * @param registry types of messages in google.protobuf.Any in details of errors.
 */
export function connectStreamType(
  registry: Registry,
): (contentType: string) => FramedType | undefined {
  const protocol: FramedProtocol = {
    name: 'connect',
    timeout: connectTimeout,
    hasTrailers: false,
    codingHeader: 'connect-content-encoding',
    acceptCodingHeader: 'connect-accept-encoding',
    checkVersion: checkVersionHeader,
    end(trailer, error) {
      const metadata: Record<string, string[]> = {}
      const add = (value: string, name: string) => {
        metadata[name] = [...(metadata[name] ?? []), value]
      }
      const trailers = metadataOf(trailer)
      for (let i = 0; i < trailers.length; i += 2) add(trailers[i + 1] ?? '', trailers[i] ?? '')
      error?.metadata.forEach(add)
      const end = {
        ...(error && { error: errorJson(error, registry) }),
        ...(Object.keys(metadata).length > 0 && { metadata }),
      }
      return { last: envelope(END_STREAM, JSON.stringify(end)) }
    },
  }
  const proto: FramedType = {
    protocol,
    format: 'proto',
    isText: false,
    contentType: 'application/connect+proto',
  }
  const json: FramedType = { ...proto, format: 'json', contentType: 'application/connect+json' }
  return (contentType) => {
    const match = STREAM_CONTENT_TYPE.exec(contentType)
    return match ? (match[1] === undefined ? proto : json) : undefined
  }
}
