import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { type ContextValues, createContextKey, type HandlerContext } from '@connectrpc/connect'
import type { Cancellation } from './cancellation.ts'
import { LazyHeaders } from './lazy-headers.ts'

/**
 * Whether an interceptor answers calls with one response by their deadline. Then this module does
 * not give them up before they say how they ended.
 */
export const deadlineKept = createContextKey(false, { description: 'deadline kept' })

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
 * The context of a call over REST. What is expensive, signal and headers, is made when first used.
 * `signal` is a getter of the class, so an implementation that copies the context by a spread has
 * to name it; interceptors, which do copy what they get, have a request with a property of its own.
 */
export class RestContext implements HandlerContext {
  readonly protocolName = 'rest'
  readonly service: DescService
  readonly method: DescMethod
  readonly requestMethod: string
  readonly url: string
  readonly requestHeader: Headers
  readonly responseHeader = new LazyHeaders()
  readonly responseTrailer = new LazyHeaders()
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
