import { create, type Message } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { type CallServer, callUnary, sendReply, serveCall } from '../exchange/call.ts'
import { type CallContext, deadlineKept } from '../exchange/context.ts'
import { methodNotAllowed, targetTooLong } from '../exchange/errors.ts'
import type { HeaderList } from '../exchange/headers.ts'
import { invokeStream, type StreamSpec, single, type UnarySpec } from '../exchange/invoke.ts'
import { timeoutOf } from '../exchange/negotiate.ts'
import {
  type HttpExchange,
  type NodeServerRequest,
  type NodeServerResponse,
  originOf,
  type Reply,
  send,
} from '../exchange/node.ts'
import { type Endpoint, RestCall } from './endpoint.ts'
import type { ErrorStyle } from './errors.ts'
import { errorReply } from './reply.ts'
import { requestContent, uploadMessages } from './request/content.ts'
import { readRequest } from './request/request-reader.ts'
import type { Match, Miss, Router } from './schema/tree.ts'
import { sendStream } from './stream.ts'

/** State that all REST requests to a server share. */
interface RestServer extends CallServer {
  readonly router: Router<Endpoint>
  /** The style of errors that belong to no service. */
  readonly errorStyle: ErrorStyle
  readonly maxTargetBytes: number
  /** Returns the base of the URLs in `Link`. */
  readonly publicUrl: (() => string) | undefined
}

/**
 * Answers a request. If no template matches the path, it calls `notFound` or, without that, answers
 * 404.
 */
export type RestHandler<Request extends NodeServerRequest = NodeServerRequest> = (
  request: Request,
  response: NodeServerResponse,
  notFound?: () => void,
) => void

/** Creates the handler of Node requests. The handler never throws. */
export function createHandler(server: RestServer): RestHandler {
  const { router, errorStyle, maxTargetBytes } = server
  return (request, response, notFound) => {
    const exchange = { request, response }
    const { method = 'GET', url: target = '' } = request
    if (target.length > maxTargetBytes) {
      const reply = errorReply(targetTooLong(maxTargetBytes), errorStyle)
      send(exchange, reply, defaultsOf(server, request))
      return
    }
    const found = router.match(method, target)
    if (found.kind === 'match') void serve(server, found, exchange)
    else if (found.kind === 'notFound' && notFound !== undefined) notFound()
    else send(exchange, missReply(found, request, errorStyle), defaultsOf(server, request))
  }
}

const NO_HEADERS: HeaderList = []

function defaultsOf({ headers }: RestServer, request: NodeServerRequest): HeaderList {
  return headers?.(request) ?? NO_HEADERS
}

function missReply(
  miss: Miss,
  { method = 'GET', url: target = '' }: NodeServerRequest,
  errorStyle: ErrorStyle,
): Reply {
  if (miss.kind === 'notAllowed' && method === 'OPTIONS') {
    const headers = ['Allow', miss.allow.join(', ')]
    return { status: 204, headers, body: undefined, contentType: '' }
  }
  return errorReply(missError(miss, method, target), errorStyle)
}

function missError(miss: Miss, httpMethod: string, target: string): ConnectError {
  if (miss.kind === 'badPath') return new ConnectError(miss.message, Code.InvalidArgument)
  if (miss.kind === 'notAllowed') return methodNotAllowed(httpMethod, miss.allow)
  return new ConnectError(`no such path: ${target.split('?', 1)[0]}`, Code.NotFound)
}

/** Answers a request that matches a template. Never rejects. */
function serve(
  server: RestServer,
  { route: { target: endpoint }, values }: Match<Endpoint>,
  exchange: HttpExchange,
): Promise<void> {
  return serveCall<RestCall>(server, exchange, {
    open(defaults) {
      const timeoutMs = timeoutOf(exchange.request.headers, endpoint.settings.maxTimeoutMs)
      const opening = { server, target: endpoint, exchange, defaults, timeoutMs }
      return new RestCall(opening, values, server.publicUrl)
    },
    async answer(call) {
      const reply = await replyOf(call)
      const compressing = reply && sendReply(call, reply)
      if (compressing !== undefined) await compressing
    },
    fail(error, call, defaults) {
      send(exchange, errorReply(error, endpoint.errorStyle, call?.context), defaults)
    },
  })
}

/** Makes the call and returns its response; undefined for a stream, which has been sent. */
function replyOf(call: RestCall): Promise<Reply | undefined> {
  switch (call.endpoint.spec.kind) {
    case 'unary':
      return replyToUnary(call, call.endpoint.spec)
    case 'client_streaming':
      return replyToUpload(call, call.endpoint.spec)
    default:
      return replyToStream(call, call.endpoint.spec)
  }
}

async function replyToUnary(call: RestCall, spec: UnarySpec): Promise<Reply> {
  const { endpoint, cancellation } = call
  const message = takesContent(endpoint)
    ? await cancellation.limit(readMessage(call))
    : messageOf(call, NO_CONTENT)
  return replyTo(call, message, await callUnary(call, spec, message))
}

/** Makes the call of an upload, which has many requests and one response. */
async function replyToUpload(call: RestCall, spec: StreamSpec): Promise<Reply> {
  const { endpoint, context, cancellation, request, values } = call
  const { settings, reader } = endpoint
  const uploads = uploadMessages(reader, settings, request, values)
  const responses = invokeStream(spec, context, uploads, settings.interceptors)
  const iterator = responses[Symbol.asyncIterator]()
  const invoked = iterator.next()
  const response = await (isDeadlineKept(context) ? invoked : cancellation.race(invoked))
  if (response.done) throw new Error(`${spec.method.name} ended without a response`)
  // Trailers are complete when the iteration ends.
  await cancellation.race(iterator.next())
  return replyTo(call, create(spec.method.input), response.value)
}

async function replyToStream(call: RestCall, spec: StreamSpec): Promise<Reply | undefined> {
  const { endpoint, context, cancellation } = call
  const message = takesContent(endpoint)
    ? await cancellation.race(readMessage(call))
    : messageOf(call, NO_CONTENT)
  const { interceptors } = endpoint.settings
  return sendStream(call, invokeStream(spec, context, single(message), interceptors))
}

function isDeadlineKept({ values }: CallContext): boolean {
  return values.get(deadlineKept)
}

const NO_CONTENT = new Uint8Array()

/** Content without a body rule is not read. */
function takesContent({ binding }: Endpoint): boolean {
  return binding.body !== ''
}

async function readMessage(call: RestCall): Promise<Message> {
  const { reader, settings } = call.endpoint
  return messageOf(call, await requestContent(reader, settings, call.request))
}

function messageOf({ endpoint, values, request }: RestCall, content: Uint8Array): Message {
  const { url: target = '', headers } = request
  const contentType = headers['content-type'] ?? ''
  return readRequest(endpoint.reader, { values, target, content, contentType })
}

function replyTo(call: RestCall, message: Message, response: Message): Promise<Reply> {
  const { endpoint, context, publicUrl, request } = call
  const { url: target = '', headers } = request
  const baseUrl = () => publicUrl?.() || originOf(request)
  const ifNoneMatch = headers['if-none-match']
  return endpoint.reply(response, { context, request: message, target, ifNoneMatch, baseUrl })
}
