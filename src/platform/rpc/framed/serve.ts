import type { Message } from '@bufbuild/protobuf'
import type { ConnectError } from '@connectrpc/connect'
import { type CallServer, callUnary, serveCall } from '../exchange/call.ts'
import { compress } from '../exchange/compression.ts'
import { deadlineKept } from '../exchange/context.ts'
import { checkSize } from '../exchange/formats.ts'
import type { HeaderList } from '../exchange/header-list.ts'
import { invokeStream, type StreamSpec, single, type UnarySpec } from '../exchange/invoke.ts'
import type { RpcMethod } from '../exchange/method.ts'
import { timeoutIn } from '../exchange/negotiate.ts'
import type { HttpExchange } from '../exchange/node.ts'
import { byteLength } from '../exchange/node.ts'
import { acceptedCoding, FramedCall, namedCoding } from './call.ts'
import { readMessage, readMessages } from './content.ts'
import { COMPRESSED, envelope } from './envelopes.ts'
import type { FramedType } from './protocol.ts'
import { FramedResponse } from './response.ts'

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
  response.succeed(context, frame)
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
    response.succeed(context)
  } finally {
    // Not awaited: a generator that is busy with a cancelled call may finish later.
    iterator.return?.().catch(() => {})
  }
}

/** Returns a message in its envelope. Throws ResourceExhausted for one over the limit. */
function frameOf(call: FramedCall, message: Message): Buffer | Promise<Buffer> {
  const { format, settings, responseCoding } = call
  const data = format.write(message)
  checkSize(data, settings.writeMaxBytes)
  return responseCoding === undefined || byteLength(data) < settings.compressMinBytes
    ? envelope(0, data)
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
