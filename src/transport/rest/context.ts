import type { DescMethod, DescService } from '@bufbuild/protobuf'
import type { ContextValues, HandlerContext } from '@connectrpc/connect'
import type { Cancellation } from './cancellation.ts'

/** What a call knows of its request. */
export interface ContextInit {
  readonly method: DescMethod
  readonly requestMethod: string
  readonly url: string
  readonly requestHeader: Headers
  readonly values: ContextValues
  readonly cancellation: Cancellation
}

/**
 * The context of a call over REST. `signal` is made when first asked for; everything else is as cheap as a field. An
 * implementation that copies the context with a spread therefore loses `signal`, which Connect's own contexts keep.
 */
export class RestContext implements HandlerContext {
  readonly protocolName = 'rest'
  readonly service: DescService
  readonly method: DescMethod
  readonly requestMethod: string
  readonly url: string
  readonly requestHeader: Headers
  readonly responseHeader = new Headers()
  readonly responseTrailer = new Headers()
  /** Those an interceptor put in their place, once it did. */
  values: ContextValues
  readonly timeoutMs: () => number | undefined
  readonly #cancellation: Cancellation

  constructor(init: ContextInit) {
    this.service = init.method.parent
    this.method = init.method
    this.requestMethod = init.requestMethod
    this.url = init.url
    this.requestHeader = init.requestHeader
    this.values = init.values
    this.#cancellation = init.cancellation
    this.timeoutMs = () => this.#cancellation.remainingMs()
  }

  get signal(): AbortSignal {
    return this.#cancellation.signal
  }
}
