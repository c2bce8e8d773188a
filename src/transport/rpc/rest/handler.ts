import type { Message } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { ContextValues } from '@connectrpc/connect'
import { Code, ConnectError, createContextValues } from '@connectrpc/connect'
import type { OpenCalls } from '../exchange/cancellation.ts'
import { Cancellation, isGone } from '../exchange/cancellation.ts'
import { compress, isCompressible } from '../exchange/compression.ts'
import { deadlineKept, RestContext } from '../exchange/context.ts'
import type { HeaderList } from '../exchange/header-list.ts'
import { invokeStream, invokeUnary, single } from '../exchange/invoke.ts'
import { LazyHeaders } from '../exchange/lazy-headers.ts'
import { responseCoding, timeoutOf } from '../exchange/negotiate.ts'
import type { NodeServerRequest, NodeServerResponse, Reply } from '../exchange/node.ts'
import { byteLength, originOf, send } from '../exchange/node.ts'
import type { Endpoint } from './endpoint.ts'
import { buildRequest } from './endpoint.ts'
import type { ErrorStyle } from './errors.ts'
import { asConnectError, methodNotAllowed, noSuchRoute, targetTooLong } from './errors.ts'
import { errorReply } from './reply.ts'
import { requestContent, uploadMessages } from './request/content.ts'
import type { Match, Miss, Router } from './schema/tree.ts'
import { sendStream } from './stream.ts'

/** What all requests to a server share. */
export interface ServerState {
  readonly router: Router<Endpoint>
  /** Errors that belong to no service. */
  readonly errorStyle: ErrorStyle
  readonly openCalls: OpenCalls
  readonly maxTargetBytes: number
  readonly contextValues: ((request: NodeServerRequest) => ContextValues) | undefined
  readonly headers: ((request: NodeServerRequest) => HeaderList) | undefined
  readonly publicUrl: (() => string) | undefined
  readonly roomFor:
    | ((request: NodeServerRequest, bytes: number) => ConnectError | undefined)
    | undefined
  readonly onError: (error: unknown, request: NodeServerRequest) => void
}

/**
 * Answers a request. `notFound` is called, if given, instead of answering 404 to a path that no
 * template matches.
 */
export type RestHandler = (
  request: NodeServerRequest,
  response: NodeServerResponse,
  notFound?: () => void,
) => void

/** Creates the handler of Node requests. It never throws. */
export function createHandler(state: ServerState): RestHandler {
  return (request, response, notFound) => {
    const target = request.url ?? ''
    if (target.length > state.maxTargetBytes) {
      sendError(
        state,
        state.headers?.(request),
        { request, response },
        targetTooLong(state.maxTargetBytes),
      )
      return
    }
    const found = state.router.match(request.method ?? 'GET', target)
    if (found.kind === 'match') void serve(state, found, request, response)
    else if (found.kind === 'notFound' && notFound !== undefined) notFound()
    else answerMiss(state, found, request, response)
  }
}

function answerMiss(
  state: ServerState,
  miss: Miss,
  request: NodeServerRequest,
  response: NodeServerResponse,
): void {
  const { method = 'GET', url = '' } = request
  if (miss.kind === 'notAllowed' && method === 'OPTIONS') {
    const headers = ['Allow', miss.allow.join(', ')]
    const reply = { status: 204, headers, body: undefined, contentType: '' }
    send(request, response, reply, state.headers?.(request) ?? NO_HEADERS)
    return
  }
  sendError(state, state.headers?.(request), { request, response }, missError(miss, method, url))
}

function missError(miss: Miss, httpMethod: string, target: string): ConnectError {
  if (miss.kind === 'badPath') return new ConnectError(miss.message, Code.InvalidArgument)
  if (miss.kind === 'notAllowed') return methodNotAllowed(httpMethod, miss.allow)
  return noSuchRoute(target.split('?', 1)[0] ?? '')
}

/** A request and its response. */
interface HttpExchange {
  readonly request: NodeServerRequest
  readonly response: NodeServerResponse
}

function sendError(
  { errorStyle }: Pick<ServerState, 'errorStyle'>,
  defaults: HeaderList = NO_HEADERS,
  { request, response }: HttpExchange,
  error: ConnectError,
  context?: RestContext,
): void {
  send(request, response, errorReply(error, errorStyle, context), defaults)
}

const NO_HEADERS: HeaderList = []

/** A request that found its endpoint. */
interface Call {
  readonly state: ServerState
  readonly endpoint: Endpoint
  readonly values: readonly string[]
  readonly request: NodeServerRequest
  readonly response: NodeServerResponse
  readonly context: RestContext
  readonly cancellation: Cancellation
  /** Headers of the answer unless the call sets them. */
  readonly defaults: HeaderList
}

/** Reads the request, makes the call, answers. Never rejects. */
async function serve(
  state: ServerState,
  { route: { target: endpoint }, values }: Match<Endpoint>,
  request: NodeServerRequest,
  response: NodeServerResponse,
): Promise<void> {
  const defaults = state.headers?.(request) ?? NO_HEADERS
  let call: Call | undefined
  try {
    call = openCall(state, endpoint, values, { request, response }, defaults)
    const reply = await answer(call)
    const compressing = reply && deliver(call, reply)
    if (compressing !== undefined) await compressing
    call.cancellation.end()
  } catch (thrown) {
    const error = asConnectError(thrown)
    // A call that nobody waits for any more may fail in any way.
    if (error !== thrown && !isGone(response)) state.onError(thrown, request)
    sendError(endpoint, defaults, { request, response }, error, call?.context)
    call?.cancellation.end(error)
  }
}

/** Throws InvalidArgument for a malformed timeout. */
function openCall(
  state: ServerState,
  endpoint: Endpoint,
  values: readonly string[],
  { request, response }: HttpExchange,
  defaults: HeaderList,
): Call {
  const { url: target = '', method: requestMethod = 'GET', headers } = request
  const timeoutMs = timeoutOf(headers, endpoint.settings.maxTimeoutMs)
  const cancellation = new Cancellation(timeoutMs, response, state.openCalls)
  const context = new RestContext({
    method: endpoint.spec.method,
    requestMethod,
    url: target.startsWith('/') ? originOf(request) + target : target,
    requestHeader: new LazyHeaders(headers),
    values: state.contextValues?.(request) ?? createContextValues(),
    cancellation,
  })
  return { state, endpoint, values, request, response, context, cancellation, defaults }
}

/** The answer to a call; undefined if it was a stream, which is sent already. */
function answer(call: Call): Promise<Reply | undefined> {
  switch (call.endpoint.spec.kind) {
    case 'unary':
      return answerUnary(call, call.endpoint.spec)
    case 'client_streaming':
      return answerUpload(call, call.endpoint.spec)
    default:
      return answerStream(call, call.endpoint.spec)
  }
}

type Spec<K> = Extract<Endpoint['spec'], { kind: K }>
type StreamSpec = Exclude<Endpoint['spec'], { kind: 'unary' }>

async function answerUnary(call: Call, spec: Spec<'unary'>): Promise<Reply> {
  const { endpoint, context, cancellation } = call
  const message = takesContent(endpoint)
    ? await cancellation.limit(readRequest(call))
    : requestOf(call, NO_CONTENT)
  const invoked = invokeUnary(spec, context, message, endpoint.settings.interceptors)
  const response = await (context.values.get(deadlineKept) ? invoked : cancellation.limit(invoked))
  return replyTo(call, message, response)
}

/** An upload in chunks, which has one response. */
async function answerUpload(call: Call, spec: StreamSpec): Promise<Reply> {
  const { endpoint, context, cancellation, request, values } = call
  const uploads = uploadMessages(endpoint, request, values)
  const iterator = invokeStream(spec, context, uploads, endpoint.settings.interceptors)[
    Symbol.asyncIterator
  ]()
  const invoked = iterator.next()
  const response = await (context.values.get(deadlineKept) ? invoked : cancellation.race(invoked))
  if (response.done) throw new Error(`${spec.method.name} ended without a response`)
  // Trailers are complete when the iteration is.
  await cancellation.race(iterator.next())
  return replyTo(call, create(spec.method.input), response.value)
}

async function answerStream(call: Call, spec: StreamSpec): Promise<Reply | undefined> {
  const { endpoint, context, cancellation } = call
  const message = takesContent(endpoint)
    ? await cancellation.race(readRequest(call))
    : requestOf(call, NO_CONTENT)
  const report = (error: unknown) => call.state.onError(error, call.request)
  return sendStream(
    { ...call, report },
    invokeStream(spec, context, single(message), endpoint.settings.interceptors),
  )
}

const NO_CONTENT = new Uint8Array()

/** Content that no body rule asks for is not read. */
function takesContent({ binding }: Endpoint): boolean {
  return binding.body !== ''
}

async function readRequest(call: Call): Promise<Message> {
  return requestOf(call, await requestContent(call.endpoint, call.request))
}

function requestOf({ endpoint, values, request }: Call, content: Uint8Array): Message {
  const { url: target = '', headers } = request
  return buildRequest(endpoint, {
    values,
    target,
    content,
    contentType: headers['content-type'] ?? '',
  })
}

function replyTo(
  { state, endpoint, context, request }: Call,
  message: Message,
  response: Message,
): Reply {
  const { url: target = '', headers } = request
  const baseUrl = () => state.publicUrl?.() || originOf(request)
  const ifNoneMatch = headers['if-none-match']
  return endpoint.reply(response, { context, request: message, target, ifNoneMatch, baseUrl })
}

/**
 * Sends an answer, in a content coding if the client takes one and the content is worth it.
 *
 * @throws what there is to answer in place of content that there is no room for.
 */
function deliver(
  { state, endpoint, request, response, defaults }: Call,
  reply: Reply,
): Promise<void> | undefined {
  const { compressions, compressMinBytes } = endpoint.settings
  const { body, contentType } = reply
  const lacking = body === undefined ? undefined : state.roomFor?.(request, byteLength(body))
  if (lacking) throw lacking
  const mayCompress =
    body !== undefined &&
    compressions.length > 0 &&
    isAtLeast(body, compressMinBytes) &&
    isCompressible(contentType)
  if (!mayCompress) {
    send(request, response, reply, defaults)
    return undefined
  }
  const coding = responseCoding(request.headers['accept-encoding'], compressions)
  const varying = { ...reply, vary: 'Accept-Encoding' }
  if (coding === undefined) {
    send(request, response, varying, defaults)
    return undefined
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return compress(coding, bytes).then((compressed) => {
    const encoded = { ...varying, body: compressed, contentEncoding: coding.name }
    send(request, response, encoded, defaults)
  })
}

function isAtLeast(body: string | Uint8Array, minBytes: number): boolean {
  // Three bytes of UTF-8 are the most that one UTF-16 unit becomes.
  return body.length * 3 >= minBytes && byteLength(body) >= minBytes
}
