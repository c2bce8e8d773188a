import type { DescMethod, Message, Registry } from '@bufbuild/protobuf'
import type { ConnectError, ContextKey, ContextValues } from '@connectrpc/connect'
import { Cancellation, isGone, type OpenCalls } from './cancellation.ts'
import { compress, isCompressible } from './compression.ts'
import { CallContext, deadlineKept } from './context.ts'
import { asConnectError } from './errors.ts'
import { type HeaderList, LazyHeaders } from './headers.ts'
import { invokeUnary, type UnarySpec } from './invoke.ts'
import { responseCoding } from './negotiate.ts'
import {
  byteLength,
  type HttpExchange,
  type NodeServerRequest,
  originOf,
  type Reply,
  send,
} from './node.ts'
import type { CallSettings } from './settings.ts'

/** State that all calls to a server share. */
export interface CallServer {
  readonly openCalls: OpenCalls
  /** Creates the context values of a call. */
  readonly contextValues:
    | ((request: NodeServerRequest, protocolName: string) => ContextValues)
    | undefined
  /** Returns the default headers of the response, with names in lower case. */
  readonly headers: ((request: NodeServerRequest) => HeaderList) | undefined
  /** Returns an error to send instead of content of this size if the server has no room for it. */
  readonly roomFor:
    | ((request: NodeServerRequest, bytes: number) => ConnectError | undefined)
    | undefined
  /** Types of messages in google.protobuf.Any and in details of errors. */
  readonly registry: Registry
  /** Changes an error before it is written. */
  readonly completeError: ((error: ConnectError, protocolName: string) => void) | undefined
  /** Reports a thrown value that is not a ConnectError. */
  readonly onError: (error: unknown, request: NodeServerRequest) => void
}

/** The RPC that a request calls, the protocol of the request, and the settings of the service. */
export interface CallTarget {
  readonly method: DescMethod
  readonly protocolName: string
  readonly settings: CallSettings
}

/** Parameters of a new call. */
export interface CallOpening {
  readonly server: CallServer
  readonly target: CallTarget
  readonly exchange: HttpExchange
  /** Headers of the response unless the call sets them. */
  readonly defaults: HeaderList
  /** Undefined for a call without a deadline. */
  readonly timeoutMs: number | undefined
}

/** A call from its request headers to the end of its response. The deadline starts with it. */
export class Call implements HttpExchange {
  readonly server: CallServer
  readonly settings: CallSettings
  readonly request: HttpExchange['request']
  readonly response: HttpExchange['response']
  readonly context: CallContext
  readonly cancellation: Cancellation
  /** Headers of the response unless the call sets them. */
  readonly defaults: HeaderList

  constructor({ server, target, exchange, defaults, timeoutMs }: CallOpening) {
    const { method, protocolName, settings } = target
    const { request, response } = exchange
    const { url = '', method: requestMethod = 'GET', headers } = request
    this.server = server
    this.settings = settings
    this.request = request
    this.response = response
    this.cancellation = new Cancellation(timeoutMs, response, server.openCalls)
    this.context = new CallContext({
      method,
      protocolName,
      requestMethod,
      url: url.startsWith('/') ? originOf(request) + url : url,
      requestHeader: new LazyHeaders(headers),
      values: server.contextValues?.(request, protocolName) ?? new CallValues(),
      cancellation: this.cancellation,
    })
    this.defaults = defaults
  }
}

/** The part of a protocol in one call. */
export interface Codec<C extends Call> {
  /** Reads the request headers. Throws an error that the client receives. */
  open(defaults: HeaderList): C
  /** Reads the request, makes the call and sends the response. */
  answer(call: C): Promise<void>
  /** Sends an error. `call` is undefined if `open` failed. */
  fail(error: ConnectError, call: C | undefined, defaults: HeaderList): void
}

/** Answers a request by the codec of its protocol. Never rejects. */
export async function serveCall<C extends Call>(
  server: CallServer,
  { request, response }: HttpExchange,
  codec: Codec<C>,
): Promise<void> {
  const defaults = server.headers?.(request) ?? []
  let call: C | undefined
  try {
    call = codec.open(defaults)
    await codec.answer(call)
    call.cancellation.end()
  } catch (thrown) {
    const error = asConnectError(thrown)
    // A call whose client is gone may fail in any way.
    if (error !== thrown && !isGone(response)) server.onError(thrown, request)
    codec.fail(error, call, defaults)
    call?.cancellation.end(error)
  }
}

/** Makes a unary call. Rejects at the deadline, unless an interceptor enforces it. */
export function callUnary(call: Call, spec: UnarySpec, message: Message): Promise<Message> {
  const { context, cancellation, settings } = call
  const invoked = invokeUnary(spec, context, message, settings.interceptors)
  return context.values.get(deadlineKept) ? invoked : cancellation.limit(invoked)
}

/**
 * Sends the complete response of a call, compressed if the client accepts a coding and the content
 * is large enough. Returns a promise only if the content is compressed.
 *
 * @throws the error of `roomFor` if the server has no room for the content.
 */
export function sendReply(call: Call, reply: Reply): Promise<void> | undefined {
  const { server, settings, request, defaults } = call
  const { compressions, compressMinBytes } = settings
  const { body, contentType } = reply
  const lacking = body === undefined ? undefined : server.roomFor?.(request, byteLength(body))
  if (lacking) throw lacking
  const mayCompress =
    body !== undefined &&
    compressions.length > 0 &&
    isAtLeast(body, compressMinBytes) &&
    isCompressible(contentType)
  if (!mayCompress) {
    send(call, reply, defaults)
    return undefined
  }
  const coding = responseCoding(request.headers['accept-encoding'], compressions)
  const varying = { ...reply, vary: 'Accept-Encoding' }
  if (coding === undefined) {
    send(call, varying, defaults)
    return undefined
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return compress(coding, bytes).then((compressed) => {
    send(call, { ...varying, body: compressed, contentEncoding: coding.name }, defaults)
  })
}

function isAtLeast(body: string | Uint8Array, minBytes: number): boolean {
  // One UTF-16 unit becomes at most three bytes of UTF-8.
  return body.length * 3 >= minBytes && byteLength(body) >= minBytes
}

/**
 * Context values of one call. Does the same as `createContextValues` of Connect, whose objects cost
 * a fifth of a small call: each has functions of its own and, by its symbols, a hidden class, which
 * V8 keeps until the next full garbage collection.
 */
export class CallValues implements ContextValues {
  /** A call has a handful of keys. Comparing them costs less than hashing one. */
  readonly #ids: symbol[] = []
  readonly #values: unknown[] = []

  get<T>({ id, defaultValue }: ContextKey<T>): T {
    const at = this.#ids.indexOf(id)
    // Only `set` with the same key stores the value.
    return at < 0 ? defaultValue : (this.#values[at] as T)
  }

  set<T>({ id }: ContextKey<T>, value: T): this {
    const at = this.#ids.indexOf(id)
    if (at < 0) {
      this.#ids.push(id)
      this.#values.push(value)
    } else this.#values[at] = value
    return this
  }

  delete({ id }: ContextKey<unknown>): this {
    const at = this.#ids.indexOf(id)
    if (at >= 0) {
      this.#ids.splice(at, 1)
      this.#values.splice(at, 1)
    }
    return this
  }
}
