import type { DescMethod, Registry } from '@bufbuild/protobuf'
import { type ConnectError, type ContextValues, createContextValues } from '@connectrpc/connect'
import { Cancellation, type OpenCalls } from './cancellation.ts'
import { compress, isCompressible } from './compression.ts'
import { CallContext } from './context.ts'
import type { HeaderList } from './header-list.ts'
import { LazyHeaders } from './lazy-headers.ts'
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

/** What all calls to a server share. */
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

/** A call from its request headers to the end of its response. */
export interface Call extends HttpExchange {
  readonly server: CallServer
  readonly settings: CallSettings
  readonly context: CallContext
  readonly cancellation: Cancellation
  /** Headers of the response unless the call sets them. */
  readonly defaults: HeaderList
}

/**
 * Opens a call and starts its deadline.
 *
 * @param timeoutMs undefined for a call without a deadline.
 */
export function openCall(
  server: CallServer,
  { method, protocolName, settings }: CallTarget,
  { request, response }: HttpExchange,
  defaults: HeaderList,
  timeoutMs: number | undefined,
): Call {
  const { url: target = '', method: requestMethod = 'GET', headers } = request
  const cancellation = new Cancellation(timeoutMs, response, server.openCalls)
  const context = new CallContext({
    method,
    protocolName,
    requestMethod,
    url: target.startsWith('/') ? originOf(request) + target : target,
    requestHeader: new LazyHeaders(headers),
    values: server.contextValues?.(request, protocolName) ?? createContextValues(),
    cancellation,
  })
  return { server, settings, request, response, context, cancellation, defaults }
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
