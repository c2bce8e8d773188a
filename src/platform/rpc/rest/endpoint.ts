import { Call, type CallOpening, type CallTarget } from '../exchange/call.ts'
import type { MethodImplSpec } from '../exchange/connect-internals.ts'
import type { RpcMethod } from '../exchange/method.ts'
import type { ErrorStyle } from './errors.ts'
import { type ContentWriter, compileContent, compileReply, type ReplyWriter } from './reply.ts'
import { httpBodyGetter } from './request/http-body.ts'
import { compileRequestReader, type RequestReader } from './request/request-reader.ts'
import type { Binding } from './schema/binding.ts'

/**
 * A binding and the implementation of its RPC. Its reader is compiled before the first request, and so are
 * mistakes in the schema found.
 */
export interface Endpoint extends CallTarget {
  readonly binding: Binding
  readonly spec: MethodImplSpec
  readonly errorStyle: ErrorStyle
  readonly reader: RequestReader
  /** Creates the response to a unary call. */
  readonly reply: ReplyWriter
  /** Returns one message of a stream as content. */
  readonly contentOf: ContentWriter
  /** Whether the response is raw content. */
  readonly isRaw: boolean
}

/** Compiles a binding and the implementation of its RPC. */
export function compileEndpoint(
  binding: Binding,
  { spec, settings }: RpcMethod,
  style: Omit<ErrorStyle, 'dialect'>,
): Endpoint {
  const { dialect, responseBody } = binding
  const { registry } = style
  return {
    method: spec.method,
    protocolName: 'rest',
    settings,
    binding,
    spec,
    errorStyle: { ...style, dialect },
    reader: compileRequestReader(binding, registry),
    reply: atFirstCall(() => compileReply(binding, registry, settings.writeMaxBytes)),
    contentOf: atFirstCall(() => compileContent(binding, registry)),
    isRaw: httpBodyGetter(spec.method.output, responseBody) !== undefined,
  }
}

/**
 * Returns a function that is compiled at its first call. The writers of all bindings would be two thirds
 * of the work on REST at the start of a server, and a server uses few of them.
 */
function atFirstCall<Args extends readonly unknown[], Result>(
  compile: () => (...args: Args) => Result,
): (...args: Args) => Result {
  let compiled: ((...args: Args) => Result) | undefined
  return (...args) => {
    compiled ??= compile()
    return compiled(...args)
  }
}

/** A call over REST. */
export class RestCall extends Call {
  readonly endpoint: Endpoint
  /** Values of the path variables. */
  readonly values: readonly string[]
  /** Returns the base of the URLs in `Link`. Undefined for that of the request. */
  readonly publicUrl: (() => string) | undefined

  constructor(
    opening: CallOpening & { readonly target: Endpoint },
    values: readonly string[],
    publicUrl: (() => string) | undefined,
  ) {
    super(opening)
    this.endpoint = opening.target
    this.values = values
    this.publicUrl = publicUrl
  }
}
