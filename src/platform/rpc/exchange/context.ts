import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { type ContextValues, createContextKey, type HandlerContext } from '@connectrpc/connect'
import type { Cancellation } from './cancellation.ts'
import { LazyHeaders } from './headers.ts'

/**
 * Whether an interceptor enforces the deadline of calls with one response. The deadline then does
 * not interrupt the call, so that the interceptor can report its result.
 */
export const deadlineKept = createContextKey(false, { description: 'deadline kept' })

/** The request of a call. */
export interface CallRequest {
  readonly method: DescMethod
  readonly protocolName: string
  readonly requestMethod: string
  readonly url: string
  readonly requestHeader: Headers
  readonly values: ContextValues
  readonly cancellation: Cancellation
}

/**
 * The context of a call. The signal and the headers are expensive and are created when first used.
 * `signal` is a getter of the class: `{...context}` leaves it out. Interceptors do copy their
 * request, so there `signal` is a property of the object.
 */
export class CallContext implements HandlerContext {
  readonly protocolName: string
  readonly service: DescService
  readonly method: DescMethod
  readonly requestMethod: string
  readonly url: string
  readonly requestHeader: Headers
  readonly responseHeader = new LazyHeaders()
  readonly responseTrailer = new LazyHeaders()
  /** An interceptor may replace the values. */
  values: ContextValues
  readonly timeoutMs: () => number | undefined
  readonly #cancellation: Cancellation

  constructor(request: CallRequest) {
    this.protocolName = request.protocolName
    this.service = request.method.parent
    this.method = request.method
    this.requestMethod = request.requestMethod
    this.url = request.url
    this.requestHeader = request.requestHeader
    this.values = request.values
    this.#cancellation = request.cancellation
    this.timeoutMs = () => this.#cancellation.remainingMs()
  }

  get signal(): AbortSignal {
    return this.#cancellation.signal
  }
}
