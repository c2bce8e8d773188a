import { constants } from 'node:http2'
import type { Message } from '@bufbuild/protobuf'
import type { ConnectError } from '@connectrpc/connect'
import { isGone } from '../exchange/cancellation.ts'
import type { CallContext } from '../exchange/context.ts'
import { asConnectError } from '../exchange/errors.ts'
import { checkSize } from '../exchange/formats.ts'
import { grpcMessage, type HeaderList } from '../exchange/headers.ts'
import { metadataOf } from '../exchange/metadata.ts'
import { tagMatches, wantsTrailers, weightsOf } from '../exchange/negotiate.ts'
import {
  addDefaults,
  addTrailers,
  byteLength,
  drained,
  hasNoContent,
  type NodeServerRequest,
  type NodeServerResponse,
  type Reply,
  send,
  writeHead,
} from '../exchange/node.ts'
import type { Endpoint, RestCall } from './endpoint.ts'
import { encodeStatus } from './errors.ts'
import { notModified, type ReplyContent, statusOf } from './reply.ts'
import { OCTET_STREAM } from './request/http-body.ts'

/**
 * Sends a stream of messages. Each message is sent as soon as it exists, and the next one is
 * requested when the response buffer has room. Rejects only with an error of the call before its
 * first message, when nothing has been sent. Resolves to a response that the caller has to send for
 * a stream without messages and for raw content that the client has cached.
 */
export async function sendStream(
  call: RestCall,
  messages: AsyncIterable<Message>,
): Promise<Reply | undefined> {
  const { cancellation, context, request, response, endpoint } = call
  const framing = framingOf(endpoint, request)
  cancellation.endAtShutdown()
  const iterator = messages[Symbol.asyncIterator]()
  const next = () => cancellation.race(iterator.next())
  try {
    let item = await next()
    if (item.done) return emptyReply(call, framing)
    let content = await contentOf(call, item.value)
    while (framing.isEmpty(content)) {
      item = await next()
      if (item.done) break
      content = await contentOf(call, item.value)
    }
    if (framing === raw && isCached(request, context))
      return notModified(metadataOf(context.responseHeader))
    if (framing === raw && isWhole(call, content)) {
      sendWhole(call, content)
      // A stream that nobody reads to its end counts as one whose reader left.
      while (!(await next()).done);
      return undefined
    }
    const headers = headOf(context, framing, content)
    addDefaults(headers, call.defaults, undefined)
    if (wantsTrailers(request.headers)) response.hasTrailers = true
    writeHead(response, statusOf(context, endpoint.binding.successStatus), headers)
    if (request.method === 'HEAD') response.end()
    else await writeAll(call, framing, content, next)
    return undefined
  } finally {
    // Not awaited: a generator that is busy with a cancelled call may finish later.
    iterator.return?.().catch(() => {})
  }
}

/** A socket takes a response of this size at once, so that no slow reader keeps it in memory. */
const MAX_WHOLE_BYTES = 64 * 1024

/**
 * Returns whether the first message is all content of the response, by the length that the call
 * announced, and small enough to be sent without waiting for the client.
 */
function isWhole({ context, request }: RestCall, { body }: ReplyContent): boolean {
  return (
    body.length <= MAX_WHOLE_BYTES &&
    context.responseHeader.get('content-length') === String(byteLength(body)) &&
    !wantsTrailers(request.headers)
  )
}

/** Sends all content in one write. */
function sendWhole(call: RestCall, content: ReplyContent): void {
  const { context, endpoint, defaults } = call
  const status = statusOf(context, endpoint.binding.successStatus)
  send(call, { status, headers: metadataOf(context.responseHeader), ...content }, defaults)
}

/** Returns whether the client has the content, by the entity tag that the call set. */
function isCached(
  { method, headers }: NodeServerRequest,
  { responseHeader }: CallContext,
): boolean {
  const [tag, known] = [responseHeader.get('etag'), headers['if-none-match']]
  return (
    (method === 'GET' || method === 'HEAD') &&
    tag !== null &&
    known !== undefined &&
    tagMatches(known, tag)
  )
}

async function writeAll(
  call: RestCall,
  framing: Framing,
  first: ReplyContent,
  next: () => Promise<IteratorResult<Message>>,
): Promise<void> {
  const { cancellation, context, request, response } = call
  // A disconnect during a write also emits an error. `close` has cancelled the call by then.
  response.on('error', () => {})
  const trailers = wantsTrailers(request.headers)
  try {
    let frame = framing.frame(first)
    for (;;) {
      if (!response.write(frame)) await cancellation.race(drained(response))
      const item = await next()
      if (item.done) break
      frame = framing.frame(await contentOf(call, item.value))
    }
    if (trailers) addTrailers(response, metadataOf(context.responseTrailer))
    response.end()
  } catch (thrown) {
    if (isGone(response)) return
    const error = asConnectError(thrown)
    if (error !== thrown) call.server.onError(thrown, request)
    endWithError(call, framing, error, trailers)
  }
}

async function contentOf({ context, endpoint }: RestCall, message: Message): Promise<ReplyContent> {
  const content = await endpoint.contentOf(message, context)
  checkSize(content.body, endpoint.settings.writeMaxBytes)
  return content
}

function emptyReply({ context, endpoint }: RestCall, framing: Framing): Reply {
  const status = endpoint.binding.successStatus
  const contentType = framing.contentType({ body: '', contentType: OCTET_STREAM })
  const headers = metadataOf(context.responseHeader, context.responseTrailer)
  return { status, headers, body: hasNoContent(status) ? undefined : '', contentType }
}

/** How the content of a stream separates messages. */
interface Framing {
  readonly contentType: (first: ReplyContent) => string
  readonly vary: string | undefined
  /** Whether a message has no content, so that the response need not start yet. */
  readonly isEmpty: (content: ReplyContent) => boolean
  readonly frame: (content: ReplyContent) => string | Uint8Array
  /** Returns the last frame of a failed stream. Undefined if only a reset can report an error. */
  readonly error: ((status: string) => string) | undefined
}

const never = () => false

const lines: Framing = {
  contentType: () => 'application/x-ndjson',
  vary: 'Accept',
  isEmpty: never,
  frame: ({ body }) => `${body}\n`,
  // `@error` cannot be the JSON name of a field.
  error: (status) => `{"@error":${status}}\n`,
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html. JSON text has no line breaks. */
const events: Framing = {
  contentType: () => 'text/event-stream',
  vary: 'Accept',
  isEmpty: never,
  frame: ({ body }) => `data: ${body}\n\n`,
  error: (status) => `event: error\ndata: ${status}\n\n`,
}

const raw: Framing = {
  contentType: (first) => first.contentType,
  vary: undefined,
  isEmpty: ({ body, contentType }) => body.length === 0 && contentType === OCTET_STREAM,
  frame: ({ body }) => body,
  error: undefined,
}

/**
 * Returns whether `Accept` names server-sent events, with at least the weight of NDJSON.
 *
 * `negotiator` does not tell whether the header names a type or a range that includes the type.
 */
export function wantsEvents(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const weights = weightsOf(accept)
  const weight = weights.get('text/event-stream') ?? 0
  return weight > 0 && weight >= (weights.get('application/x-ndjson') ?? 0)
}

function framingOf({ isRaw }: Endpoint, { headers }: NodeServerRequest): Framing {
  if (isRaw) return raw
  return wantsEvents(headers.accept) ? events : lines
}

function headOf(
  { responseHeader }: CallContext,
  framing: Framing,
  first: ReplyContent,
): HeaderList {
  const headers = ['Content-Type', framing.contentType(first), ...metadataOf(responseHeader)]
  if (framing.vary !== undefined) headers.push('Vary', framing.vary)
  const bytes = responseHeader.get('content-length')
  if (framing === raw && bytes !== null) headers.push('Content-Length', bytes)
  // Caches could otherwise delay events
  // (https://html.spec.whatwg.org/multipage/server-sent-events.html).
  if (framing === events && !responseHeader.has('cache-control'))
    headers.push('Cache-Control', 'no-cache')
  return headers
}

function endWithError(
  { endpoint, response }: RestCall,
  framing: Framing,
  error: ConnectError,
  trailers: boolean,
): void {
  if (framing.error === undefined) {
    abort(response)
    return
  }
  if (trailers) {
    const status = [
      'Grpc-Status',
      String(error.code),
      'Grpc-Message',
      grpcMessage(error.rawMessage),
    ]
    addTrailers(response, [...metadataOf(error.metadata), ...status])
  }
  response.end(framing.error(encodeStatus(error, endpoint.errorStyle)))
}

/** Shows that raw content is incomplete: no final chunk over HTTP/1.1, a reset over HTTP/2. */
function abort(response: NodeServerResponse): void {
  if (response.stream) {
    response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    return
  }
  // The empty write waits for earlier ones, which an immediate `destroy` would drop.
  if (response.socket) response.socket.write('', () => response.destroy())
  else response.destroy()
}
