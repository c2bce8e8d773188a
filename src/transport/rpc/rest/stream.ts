import { constants } from 'node:http2'
import type { Message } from '@bufbuild/protobuf'
import type { ConnectError } from '@connectrpc/connect'
import type { Cancellation } from '../exchange/cancellation.ts'
import { isGone } from '../exchange/cancellation.ts'
import type { RestContext } from '../exchange/context.ts'
import type { HeaderList } from '../exchange/header-list.ts'
import { grpcMessage } from '../exchange/header-list.ts'
import { tagMatches, wantsEvents, wantsTrailers } from '../exchange/negotiate.ts'
import type { NodeServerRequest, NodeServerResponse, Reply } from '../exchange/node.ts'
import { addDefaults, hasNoContent, writeHead } from '../exchange/node.ts'
import type { Endpoint } from './endpoint.ts'
import { asConnectError, encodeStatus } from './errors.ts'
import type { ReplyContent } from './reply.ts'
import { checkSize, metadataOf, notModified, statusOf } from './reply.ts'
import { OCTET_STREAM } from './request/http-body.ts'

/** A server-streaming call that is being answered. */
export interface StreamCall {
  readonly endpoint: Endpoint
  readonly request: NodeServerRequest
  readonly response: NodeServerResponse
  readonly context: RestContext
  readonly cancellation: Cancellation
  /** Headers of the answer unless the call sets them. */
  readonly defaults: HeaderList
  /**
   * Told about unexpected errors after the first message, when no error answer is possible any
   * more.
   */
  readonly report: (error: unknown) => void
}

/**
 * Answers with a stream of messages, each sent as soon as it is there and pulled only when the one
 * before is on its way. Rejects with what the call throws before its first message, when nothing is
 * sent yet; never afterwards. Resolves to an answer that the caller has to send, for a stream
 * without messages and for raw content that the client has by its ETag.
 */
export async function sendStream(
  call: StreamCall,
  messages: AsyncIterable<Message>,
): Promise<Reply | undefined> {
  const { cancellation, context, request, response, endpoint } = call
  const framing = framingOf(endpoint, request)
  const iterator = messages[Symbol.asyncIterator]()
  const next = () => cancellation.race(iterator.next())
  try {
    let item = await next()
    if (item.done) return emptyReply(call, framing)
    let content = contentOf(endpoint, item.value)
    while (framing.isOpen(content)) {
      item = await next()
      if (item.done) break
      content = contentOf(endpoint, item.value)
    }
    if (framing === raw && hasIt(request, context))
      return notModified(metadataOf(context.responseHeader))
    const headers = headOf(context, framing, content)
    addDefaults(headers, call.defaults, undefined)
    writeHead(response, statusOf(context, endpoint.binding.successStatus), headers)
    if (request.method === 'HEAD') response.end()
    else await writeAll(call, framing, content, next)
    return undefined
  } finally {
    // Not awaited: a generator that is busy with a cancelled call answers when it gets round to it.
    iterator.return?.().catch(() => {})
  }
}

/** Whether the client has the content, by the tag that the call set. */
function hasIt({ method, headers }: NodeServerRequest, { responseHeader }: RestContext): boolean {
  const [tag, known] = [responseHeader.get('etag'), headers['if-none-match']]
  return (
    (method === 'GET' || method === 'HEAD') &&
    tag !== null &&
    known !== undefined &&
    tagMatches(known, tag)
  )
}

async function writeAll(
  call: StreamCall,
  framing: Framing,
  first: ReplyContent,
  next: () => Promise<IteratorResult<Message>>,
): Promise<void> {
  const { cancellation, context, request, response, endpoint } = call
  // A client that goes away while a chunk is written shows up here too; `close` has cancelled the
  // call by then.
  response.on('error', () => {})
  const trailers = wantsTrailers(request.headers)
  try {
    let frame = framing.frame(first)
    for (;;) {
      if (!response.write(frame)) await cancellation.race(drained(response))
      const item = await next()
      if (item.done) break
      frame = framing.frame(contentOf(endpoint, item.value))
    }
    if (trailers) addTrailers(response, metadataOf(context.responseTrailer))
    response.end()
  } catch (thrown) {
    if (isGone(response)) return
    const error = asConnectError(thrown)
    if (error !== thrown) call.report(thrown)
    endWithError(call, framing, error, trailers)
  }
}

function contentOf(endpoint: Endpoint, message: Message): ReplyContent {
  const content = endpoint.contentOf(message)
  checkSize(content.body, endpoint.settings.writeMaxBytes)
  return content
}

function emptyReply({ context, endpoint }: StreamCall, framing: Framing): Reply {
  const status = endpoint.binding.successStatus
  const contentType = framing.contentType({ body: '', contentType: OCTET_STREAM })
  const headers = metadataOf(context.responseHeader, context.responseTrailer)
  return { status, headers, body: hasNoContent(status) ? undefined : '', contentType }
}

/** How messages are told apart in the content of a stream. */
interface Framing {
  readonly contentType: (first: ReplyContent) => string
  readonly vary: string | undefined
  /**
   * Whether the head of the answer is still open after this message, and the message itself carries
   * nothing.
   */
  readonly isOpen: (content: ReplyContent) => boolean
  readonly frame: (content: ReplyContent) => string | Uint8Array
  /** The last frame of a stream that fails; undefined if the answer can only be cut off. */
  readonly error: ((status: string) => string) | undefined
}

const never = () => false

const lines: Framing = {
  contentType: () => 'application/x-ndjson',
  vary: 'Accept',
  isOpen: never,
  frame: ({ body }) => `${body}\n`,
  // No field can have this JSON name.
  error: (status) => `{"@error":${status}}\n`,
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html. JSON text has no line breaks. */
const events: Framing = {
  contentType: () => 'text/event-stream',
  vary: 'Accept',
  isOpen: never,
  frame: ({ body }) => `data: ${body}\n\n`,
  error: (status) => `event: error\ndata: ${status}\n\n`,
}

const raw: Framing = {
  contentType: (first) => first.contentType,
  vary: undefined,
  isOpen: ({ body, contentType }) => body.length === 0 && contentType === OCTET_STREAM,
  frame: ({ body }) => body,
  error: undefined,
}

function framingOf({ isRaw }: Endpoint, { headers }: NodeServerRequest): Framing {
  if (isRaw) return raw
  return wantsEvents(headers.accept) ? events : lines
}

function headOf(
  { responseHeader }: RestContext,
  framing: Framing,
  first: ReplyContent,
): HeaderList {
  const headers = ['Content-Type', framing.contentType(first), ...metadataOf(responseHeader)]
  if (framing.vary !== undefined) headers.push('Vary', framing.vary)
  const bytes = responseHeader.get('content-length')
  if (framing === raw && bytes !== null) headers.push('Content-Length', bytes)
  // Caches would otherwise hold events back
  // (https://html.spec.whatwg.org/multipage/server-sent-events.html).
  if (framing === events && !responseHeader.has('cache-control'))
    headers.push('Cache-Control', 'no-cache')
  return headers
}

/** Resolves when the buffer of a response has room, or the client is gone. */
function drained(response: NodeServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}

function endWithError(
  { endpoint, response }: StreamCall,
  framing: Framing,
  error: ConnectError,
  trailers: boolean,
): void {
  if (framing.error === undefined) {
    cutOff(response)
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

/**
 * Lets the client see that raw content is incomplete: no final chunk on HTTP/1.1, a reset on
 * HTTP/2.
 */
function cutOff(response: NodeServerResponse): void {
  if ('stream' in response) {
    response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    return
  }
  // What was written before goes out first, where destroying at once would drop it.
  if (response.socket === null) response.destroy()
  else response.socket.write('', () => response.destroy())
}

function addTrailers(response: NodeServerResponse, trailers: HeaderList): void {
  if (trailers.length === 0) return
  const record: Record<string, string> = {}
  for (let i = 0; i < trailers.length; i += 2) record[trailers[i] ?? ''] = trailers[i + 1] ?? ''
  response.addTrailers(record)
}
