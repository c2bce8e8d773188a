import type { DescMessage, DescMethodUnary, DescService, Message } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { ContextValues, HandlerContext, Interceptor, UnaryRequest } from '@connectrpc/connect'
import type { MethodImplSpec } from './connect-internals.ts'
import { transformInvokeImplementation } from './connect-internals.ts'
import type { CallContext } from './context.ts'

/** The implementation of a unary method. */
export type UnarySpec = Extract<MethodImplSpec, { kind: 'unary' }>

/** The implementation of a method with streams. */
export type StreamSpec = Exclude<MethodImplSpec, UnarySpec>

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

  const request = new InterceptedRequest(spec.method, context, message)
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
  return transformInvokeImplementation(spec, context, [...interceptors])(input)
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
class InterceptedRequest implements UnaryRequest {
  static readonly #signal: PropertyDescriptor & ThisType<InterceptedRequest> = {
    enumerable: true,
    configurable: true,
    get() {
      return this.#context.signal
    },
  }

  readonly stream = false
  readonly service: DescService
  readonly method: DescMethodUnary
  readonly requestMethod: string
  readonly url: string
  readonly header: Headers
  readonly contextValues: ContextValues
  readonly message: Message
  declare readonly signal: AbortSignal
  readonly #context: CallContext

  constructor(method: DescMethodUnary, context: CallContext, message: Message) {
    this.service = context.service
    this.method = method
    this.requestMethod = context.requestMethod
    this.url = context.url
    this.header = context.requestHeader
    this.contextValues = context.values
    this.message = message
    this.#context = context
    Object.defineProperty(this, 'signal', InterceptedRequest.#signal)
  }
}

/** Returns the context for an implementation whose request an interceptor replaced. */
function derivedContext(context: CallContext, request: UnaryRequest): HandlerContext {
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

function messageOf(desc: DescMessage, output: Parameters<typeof create>[1]): Message {
  return create(desc, output)
}

function replaceHeaders(target: Headers, source: Headers): void {
  if (target === source) return
  for (const name of [...target.keys()]) target.delete(name)
  for (const [name, value] of source) target.append(name, value)
}
