import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
} from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type {
  ContextValues,
  HandlerContext,
  Interceptor,
  StreamRequest,
  UnaryRequest,
} from '@connectrpc/connect'
import type { MethodImplSpec } from './connect-internals.ts'
import { transformInvokeImplementation } from './connect-internals.ts'
import type { CallContext } from './context.ts'

/** The implementation of a unary method. */
export type UnarySpec = Extract<MethodImplSpec, { kind: 'unary' }>

/** The implementation of a method with streams. */
export type StreamSpec = Exclude<MethodImplSpec, UnarySpec>

type ServerStreamSpec = Extract<MethodImplSpec, { kind: 'server_streaming' }>

type AnyFn = ReturnType<Interceptor>

/**
 * Calls a unary implementation through its interceptors and returns a complete message. Does the
 * same as Connect's `invokeUnaryImplementation`, but does not read every field of the context. The
 * chain is built for each call, because the outer function of an interceptor may hold state.
 */
export async function invokeUnary(
  spec: UnarySpec,
  context: CallContext,
  message: Message,
  interceptors: readonly Interceptor[],
): Promise<Message> {
  if (interceptors.length === 0)
    return messageOf(spec.method.output, await spec.impl(message, context))

  const request = new InterceptedUnary(spec.method, context, message)
  const innermost: AnyFn = async (received) => {
    // An interceptor that receives a unary request passes on a unary request.
    const unary = received as UnaryRequest
    const output = await spec.impl(
      unary.message,
      received === request ? context : derivedContext(context, unary),
    )
    return {
      stream: false,
      service: context.service,
      method: spec.method,
      header: context.responseHeader,
      trailer: context.responseTrailer,
      message: messageOf(spec.method.output, output),
    }
  }
  const outermost = interceptors.reduceRight((next, interceptor) => interceptor(next), innermost)
  const response = await outermost(request)
  replaceHeaders(context.responseHeader, response.header)
  replaceHeaders(context.responseTrailer, response.trailer)
  // The response to a unary request is unary.
  return response.message as Message
}

/**
 * Calls a streaming implementation through its interceptors. The call starts when the first item is
 * requested.
 */
export function invokeStream(
  spec: StreamSpec,
  context: CallContext,
  input: AsyncIterable<Message>,
  interceptors: readonly Interceptor[],
): AsyncIterable<Message> {
  return spec.kind === 'server_streaming'
    ? invokeServerStream(spec, context, input, interceptors)
    : transformInvokeImplementation(spec, context, [...interceptors])(input)
}

/**
 * Calls the implementation of a method with one request and a stream of responses. Does the same as
 * Connect's adapter, but does not read every field of the context: an AbortSignal costs more than
 * the rest.
 *
 * @param input one message. The protocols have read the request already.
 */
async function* invokeServerStream(
  spec: ServerStreamSpec,
  context: CallContext,
  input: AsyncIterable<Message>,
  interceptors: readonly Interceptor[],
): AsyncGenerator<Message> {
  const request = new InterceptedStream(spec.method, context, input)
  const innermost: AnyFn = async (received) => {
    // An interceptor that receives the request of a stream passes one on.
    const streaming = received as StreamRequest
    const own = streaming === request ? context : derivedContext(context, streaming)
    const message = await onlyMessage(streaming.message)
    return {
      stream: true,
      service: context.service,
      method: spec.method,
      header: context.responseHeader,
      trailer: context.responseTrailer,
      message: completeMessages(spec.method.output, spec.impl(message, own)),
    }
  }
  const outermost = interceptors.reduceRight((next, interceptor) => interceptor(next), innermost)
  const response = await outermost(request)
  replaceHeaders(context.responseHeader, response.header)
  // The response to a streaming request is a stream.
  yield* response.message as AsyncIterable<Message>
  replaceHeaders(context.responseTrailer, response.trailer)
}

/** Yields one message. */
export async function* single(message: Message): AsyncGenerator<Message> {
  yield message
}

/**
 * The request that interceptors receive. Interceptors copy it by `{...request}`, which would lose a
 * getter of the class, so `signal` is an accessor property of the object. All requests share one
 * accessor function: a function for each would give each object its own hidden class and cost
 * thirty times as much.
 */
class InterceptedRequest {
  static readonly #signal: PropertyDescriptor & ThisType<InterceptedRequest> = {
    enumerable: true,
    configurable: true,
    get() {
      return this.#context.signal
    },
  }

  readonly service: DescService
  readonly requestMethod: string
  readonly url: string
  readonly header: Headers
  readonly contextValues: ContextValues
  declare readonly signal: AbortSignal
  readonly #context: CallContext

  constructor(context: CallContext) {
    this.service = context.service
    this.requestMethod = context.requestMethod
    this.url = context.url
    this.header = context.requestHeader
    this.contextValues = context.values
    this.#context = context
    Object.defineProperty(this, 'signal', InterceptedRequest.#signal)
  }
}

class InterceptedUnary extends InterceptedRequest implements UnaryRequest {
  readonly stream = false

  constructor(
    readonly method: DescMethodUnary,
    context: CallContext,
    readonly message: Message,
  ) {
    super(context)
  }
}

class InterceptedStream extends InterceptedRequest implements StreamRequest {
  readonly stream = true

  constructor(
    readonly method: DescMethodServerStreaming,
    context: CallContext,
    readonly message: AsyncIterable<Message>,
  ) {
    super(context)
  }
}

/** Returns the context for an implementation whose request an interceptor replaced. */
function derivedContext(
  context: CallContext,
  request: UnaryRequest | StreamRequest,
): HandlerContext {
  context.values = request.contextValues
  return {
    protocolName: context.protocolName,
    service: request.service,
    method: context.method,
    requestMethod: context.requestMethod,
    url: context.url,
    requestHeader: request.header,
    responseHeader: context.responseHeader,
    responseTrailer: context.responseTrailer,
    values: request.contextValues,
    timeoutMs: context.timeoutMs,
    get signal() {
      return request.signal
    },
  }
}

/** Returns the only message of a stream. */
async function onlyMessage(messages: AsyncIterable<Message>): Promise<Message> {
  let only: Message | undefined
  for await (const message of messages) only = message
  if (only === undefined) throw new Error('an interceptor dropped the request message')
  return only
}

async function* completeMessages(
  desc: DescMessage,
  outputs: ReturnType<ServerStreamSpec['impl']>,
): AsyncGenerator<Message> {
  for await (const output of outputs) yield messageOf(desc, output)
}

function messageOf(desc: DescMessage, output: Parameters<typeof create>[1]): Message {
  return create(desc, output)
}

function replaceHeaders(target: Headers, source: Headers): void {
  if (target === source) return
  for (const name of [...target.keys()]) target.delete(name)
  for (const [name, value] of source) target.append(name, value)
}
