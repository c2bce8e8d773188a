import type { DescMethod, DescService } from '@bufbuild/protobuf'
import type { ContextValues, HandlerContext } from '@connectrpc/connect'
import type { Cancellation } from './cancellation.ts'
import { LazyHeaders } from './lazy-headers.ts'

/** What a call knows of its request. */
export interface ContextInit {
  readonly method: DescMethod
  readonly requestMethod: string
  readonly url: string
  readonly requestHeader: Headers
  readonly values: ContextValues
  readonly cancellation: Cancellation
}

/** The context of a call over REST. What is expensive, signal and headers, is made when first used. */
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
  declare readonly signal: AbortSignal
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
    Object.defineProperty(this, 'signal', RestContext.#signal)
  }

  /** See `ownGetter`. */
  static readonly #signal = ownGetter((context: RestContext) => context.#cancellation.signal)
}

/**
 * The descriptor of a lazy property of the object itself. `{...object}`, which interceptors and implementations write,
 * keeps it, where it would lose a getter of the class. Shared by all objects, because an accessor of its own gives each
 * object a hidden class of its own, which makes it thirty times as expensive.
 */
export function ownGetter<T>(get: (object: T) => unknown): PropertyDescriptor & ThisType<T> {
  return {
    enumerable: true,
    configurable: true,
    get() {
      return get(this)
    },
  }
}
