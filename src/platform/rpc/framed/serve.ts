import type { Message } from '@bufbuild/protobuf'
import type { ConnectError } from '@connectrpc/connect'
import { type CallServer, callUnary, serveCall } from '../exchange/call.ts'
import { isGone } from '../exchange/cancellation.ts'
import { compress } from '../exchange/compression.ts'
import type { Compression } from '../exchange/connect-internals.ts'
import { type CallContext, deadlineKept } from '../exchange/context.ts'
import { checkSize, type Written } from '../exchange/formats.ts'
import type { HeaderList } from '../exchange/headers.ts'
import { invokeStream, type StreamSpec, single, type UnarySpec } from '../exchange/invoke.ts'
import { metadataOf } from '../exchange/metadata.ts'
import type { RpcMethod } from '../exchange/method.ts'
import { timeoutIn } from '../exchange/negotiate.ts'
import {
  addDefaults,
  addTrailers,
  byteLength,
  drained,
  type HttpExchange,
  writeHead,
} from '../exchange/node.ts'
import { base64InTurns, base64Of, joinInTurns } from '../exchange/write-turns.ts'
import { acceptedCoding, FramedCall, namedCoding } from './call.ts'
import { readMessage, readMessages } from './content.ts'
import { COMPRESSED, envelope, envelopeInTurns } from './envelopes.ts'
import type { CallEnd, FramedType } from './protocol.ts'

/** Answers a call in a protocol with envelopes. Never rejects. */
export function serveFramed(
  server: CallServer,
  rpc: RpcMethod,
  type: FramedType,
  exchange: HttpExchange,
): Promise<void> {
  const response = new FramedResponse(exchange, type)
  const { spec } = rpc
  return serveCall<FramedCall>(server, exchange, {
    open(defaults) {
      response.defaults = defaults
      const call = openFramedCall(server, rpc, type, exchange, defaults)
      response.coding = call.responseCoding
      return call
    },
    answer: (call) =>
      spec.kind === 'unary'
        ? answerUnary(call, spec, response)
        : answerStream(call, spec, response),
    fail(error, call) {
      server.completeError?.(error, type.protocol.name)
      response.fail(call?.context, error)
    },
  })
}

/** Refuses a call of an unknown method. */
export function refuseFramed(
  server: CallServer,
  type: FramedType,
  exchange: HttpExchange,
  error: ConnectError,
): void {
  const response = new FramedResponse(exchange, type)
  response.defaults = server.headers?.(exchange.request) ?? []
  server.completeError?.(error, type.protocol.name)
  response.fail(undefined, error)
}

/** Throws InvalidArgument or Unimplemented for request headers that do not fit. */
function openFramedCall(
  server: CallServer,
  rpc: RpcMethod,
  type: FramedType,
  exchange: HttpExchange,
  defaults: HeaderList,
): FramedCall {
  const { protocol } = type
  const { method, settings } = rpc
  const { headers } = exchange.request
  protocol.checkVersion(headers)
  const timeoutMs = timeoutIn(protocol.timeout, headers, settings.maxTimeoutMs)
  const { compressions } = settings
  const { codingHeader, acceptCodingHeader } = protocol
  const requestCoding = namedCoding(textOf(headers[codingHeader]), compressions, acceptCodingHeader)
  const accepted = textOf(headers[acceptCodingHeader])
  const target = { method, protocolName: protocol.name, settings }
  const responseCoding = acceptedCoding(accepted, compressions, requestCoding)
  const opening = { server, target, exchange, defaults, timeoutMs }
  return new FramedCall(opening, rpc, type, { requestCoding, responseCoding })
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header
}

async function answerUnary(
  call: FramedCall,
  spec: UnarySpec,
  response: FramedResponse,
): Promise<void> {
  const { context, cancellation, server, request } = call
  const message = await cancellation.limit(readMessage(call))
  const framed = frameOf(call, await callUnary(call, spec, message))
  const frame = framed instanceof Promise ? await framed : framed
  const lacking = server.roomFor?.(request, frame.length)
  if (lacking) throw lacking
  await response.succeed(context, frame)
}

async function answerStream(
  call: FramedCall,
  spec: StreamSpec,
  response: FramedResponse,
): Promise<void> {
  const { context, cancellation, settings } = call
  const input =
    spec.kind === 'server_streaming'
      ? single(await cancellation.race(readMessage(call)))
      : readMessages(call)
  cancellation.endAtShutdown()
  const messages = invokeStream(spec, context, input, settings.interceptors)
  const iterator = messages[Symbol.asyncIterator]()
  const next = () => cancellation.race(iterator.next())
  try {
    // An interceptor may enforce the deadline of a call with one response.
    const isKept = spec.kind === 'client_streaming' && context.values.get(deadlineKept)
    let item = await (isKept ? iterator.next() : next())
    while (!item.done) {
      const hasRoom = response.write(context, await frameOf(call, item.value))
      if (!hasRoom) await cancellation.race(response.drained())
      item = await next()
    }
    await response.succeed(context)
  } finally {
    // Not awaited: a generator that is busy with a cancelled call may finish later.
    iterator.return?.().catch(() => {})
  }
}

/** Returns a message in its envelope. Throws ResourceExhausted for one over the limit. */
function frameOf(call: FramedCall, message: Message): Buffer | Promise<Buffer> {
  const data = call.format.write(message, call.context)
  return data instanceof Promise
    ? data.then((written) => frameOfData(call, written))
    : frameOfData(call, data)
}

function frameOfData(call: FramedCall, data: Written): Buffer | Promise<Buffer> {
  const { settings, responseCoding } = call
  checkSize(data, settings.writeMaxBytes)
  return responseCoding === undefined || byteLength(data) < settings.compressMinBytes
    ? typeof data === 'string'
      ? envelope(0, data)
      : envelopeInTurns(0, data, call.context)
    : compressedFrame(call, data)
}

async function compressedFrame(
  { responseCoding }: FramedCall,
  data: string | Uint8Array,
): Promise<Buffer> {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  return responseCoding === undefined
    ? envelope(0, bytes)
    : envelope(COMPRESSED, await compress(responseCoding, bytes))
}

/** The response to a call in a protocol with envelopes. */
class FramedResponse {
  readonly #exchange: HttpExchange
  readonly #type: FramedType
  /** Headers of the response unless the call sets them. */
  defaults: HeaderList = []
  /** The coding of compressed messages. */
  coding: Compression | undefined

  constructor(exchange: HttpExchange, type: FramedType) {
    this.#exchange = exchange
    this.#type = type
  }

  /** Sends a message. Returns whether the response buffer has room for another one. */
  write(context: CallContext, frame: Buffer): boolean {
    const { response } = this.#exchange
    if (isGone(response)) return true
    if (!response.headersSent) {
      // A disconnect during a write also emits an error. `close` cancels the call.
      response.on('error', () => {})
      this.#begin(context)
    }
    return response.write(this.#encode(frame))
  }

  /** Resolves when the response buffer has room or the client is gone. */
  drained(): Promise<void> {
    return drained(this.#exchange.response)
  }

  /**
   * Ends the response to a call that succeeded, after its last message. Returns a promise only for a
   * large message that has to become text first.
   */
  succeed(context: CallContext, frame?: Buffer): Promise<void> | undefined {
    const { response } = this.#exchange
    if (isGone(response)) return undefined
    const end = this.#type.protocol.end(context.responseTrailer, undefined)
    if (end.trailers === undefined) {
      const encoded = this.#encodeInTurns(context, frame, end.last)
      if (encoded instanceof Promise) return encoded.then((bytes) => this.#endWith(context, bytes))
      this.#endWith(context, encoded)
      return undefined
    }
    if (!response.headersSent) this.#begin(context)
    addTrailers(response, end.trailers)
    if (frame === undefined) response.end()
    else response.end(frame)
    return undefined
  }

  /**
   * Ends the response to a call that failed.
   *
   * @param context undefined if the call was not opened.
   */
  fail(context: CallContext | undefined, error: ConnectError): void {
    const { response } = this.#exchange
    if (isGone(response)) return
    const end: CallEnd = this.#type.protocol.end(context?.responseTrailer ?? new Headers(), error)
    if (end.trailers === undefined) {
      this.#endWith(context, this.#encode(end.last))
      return
    }
    // Clients of gRPC read all metadata of a Trailers-Only response as trailers, so that headers of
    // the call need a frame of their own.
    const hasHeaders = context !== undefined && metadataOf(context.responseHeader).length > 0
    if (hasHeaders && !response.headersSent) this.#begin(context)
    if (response.headersSent) {
      addTrailers(response, end.trailers)
      response.end()
    } else {
      // Trailers-Only: one HEADERS frame that ends the stream. Node sends the headers this way when
      // `end` is called first.
      setHeaders(response, [...this.#headers(context), ...end.trailers])
      response.end()
    }
  }

  /** Sends the headers of a response that has more than an end. */
  #begin(context: CallContext): void {
    const { response } = this.#exchange
    if (this.#type.protocol.hasTrailers) response.hasTrailers = true
    writeHead(response, 200, this.#headers(context))
  }

  #endWith(context: CallContext | undefined, encoded: Uint8Array): void {
    const { response } = this.#exchange
    if (isGone(response)) return
    if (!response.headersSent) {
      const headers = this.#headers(context)
      headers.push('Content-Length', String(encoded.length))
      writeHead(response, 200, headers)
    }
    response.end(encoded)
  }

  #headers(context: CallContext | undefined): HeaderList {
    const { contentType, protocol } = this.#type
    const headers: HeaderList = ['Content-Type', contentType]
    if (this.coding !== undefined) headers.push(protocol.codingHeader, this.coding.name)
    if (context !== undefined) headers.push(...metadataOf(context.responseHeader))
    addDefaults(headers, this.defaults, undefined)
    return headers
  }

  #encodeInTurns(
    context: CallContext,
    frame: Buffer | undefined,
    last: Uint8Array,
  ): Uint8Array | Promise<Uint8Array> {
    if (frame === undefined) return this.#encode(last)
    const joined = joinInTurns([frame, last], context)
    if (!this.#type.isText) return joined
    return joined instanceof Promise
      ? joined.then((bytes) => base64InTurns(bytes, context))
      : base64InTurns(joined, context)
  }

  #encode(content: Uint8Array): Uint8Array {
    return this.#type.isText ? base64Of(bufferOf(content)) : content
  }
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length)
}

function setHeaders(response: HttpExchange['response'], headers: HeaderList): void {
  const values = new Map<string, string[]>()
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i]?.toLowerCase(), headers[i + 1]]
    const others = values.get(name)
    if (others) others.push(value)
    else values.set(name, [value])
  }
  for (const [name, [first = '', ...others]] of values)
    response.setHeader(name, others.length === 0 ? first : [first, ...others])
}
