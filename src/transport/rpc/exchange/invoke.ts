import type { DescMessage, DescMethodUnary, DescService, Message } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { ContextValues, HandlerContext, Interceptor, UnaryRequest } from '@connectrpc/connect'
import type { MethodImplSpec } from './connect-internals.ts'
import { transformInvokeImplementation } from './connect-internals.ts'
import type { RestContext } from './context.ts'

type UnarySpec = Extract<MethodImplSpec, { kind: 'unary' }>
type StreamSpec = Exclude<MethodImplSpec, UnarySpec>
type AnyFn = ReturnType<Interceptor>

/**
 * Calls a unary implementation through its interceptors and returns a complete message. The same
 * onion as Connect's own `invokeUnaryImplementation`, built for each call because an interceptor
 * may keep state of a call in its outer function, but without reading every field of the context.
 */
export async function invokeUnary(
  spec: UnarySpec,
  context: RestContext,
  message: Message,
  interceptors: readonly Interceptor[],
): Promise<Message> {
  if (interceptors.length === 0)
    return normalise(spec.method.output, await spec.impl(message, context))

  const request = new RestRequest(spec.method, context, message)
  const innermost: AnyFn = async (received) => {
    // Interceptors pass on a request of the kind they were given.
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
      message: normalise(spec.method.output, output),
    }
  }
  const outermost = interceptors.reduceRight((next, interceptor) => interceptor(next), innermost)
  const response = await outermost(request)
  replaceHeaders(context.responseHeader, response.header)
  replaceHeaders(context.responseTrailer, response.trailer)
  // A unary request has a unary response.
  return response.message as Message
}

/**
 * Calls a streaming implementation through its interceptors. Nothing runs before the first item is
 * asked for.
 */
export function invokeStream(
  spec: StreamSpec,
  context: RestContext,
  input: AsyncIterable<Message>,
  interceptors: readonly Interceptor[],
): AsyncIterable<Message> {
  return transformInvokeImplementation(spec, context, [...interceptors])(input)
}

/** One message as the input of a stream. */
export async function* single(message: Message): AsyncGenerator<Message> {
  yield message
}

/**
 * The request as interceptors see it. `signal` is lazy and yet a property of the object itself,
 * because `{...request}`, which interceptors write, would lose a getter of the class. All requests
 * share one accessor: a function for each object would give each a hidden class of its own, at
 * thirty times the cost.
 */
class RestRequest implements UnaryRequest {
  static readonly #signal: PropertyDescriptor & ThisType<RestRequest> = {
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
  readonly #context: RestContext

  constructor(method: DescMethodUnary, context: RestContext, message: Message) {
    this.service = context.service
    this.method = method
    this.requestMethod = context.requestMethod
    this.url = context.url
    this.header = context.requestHeader
    this.contextValues = context.values
    this.message = message
    this.#context = context
    Object.defineProperty(this, 'signal', RestRequest.#signal)
  }
}

/** The context for an implementation behind an interceptor that replaced the request. */
function derivedContext(context: RestContext, request: UnaryRequest): HandlerContext {
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

function normalise(desc: DescMessage, output: Parameters<typeof create>[1]): Message {
  return create(desc, output)
}

function replaceHeaders(target: Headers, source: Headers): void {
  if (target === source) return
  for (const name of [...target.keys()]) target.delete(name)
  for (const [name, value] of source) target.append(name, value)
}
