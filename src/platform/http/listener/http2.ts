import http2 from 'node:http2'
import type { CountAnswer } from './answers.ts'
import type { ClientConnection, Conversation, ProtocolServer } from './connection.ts'
import { CountedHttp2Response } from './counted-responses.ts'
import { Credit } from './credit.ts'
import { endStreamEarly } from './early-end.ts'
import { http2HeadersFit } from './header-list.ts'
import { Http2Request, type Http2Response } from './http2-messages.ts'
import type { ListenerLimits } from './limits.ts'

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR } = http2.constants

// RFC 9113 §5.1.1.
const MAX_STREAM_ID = 2 ** 31 - 1

/**
 * Creates an HTTP/2 server that does not listen itself. nghttp2 answers pings and ends sessions
 * that send floods of pings, settings or CONTINUATION frames (CVE-2024-27316). Node counts invalid
 * frames and refused streams.
 *
 * Reset streams (CVE-2023-44487) are counted here. nghttp2 counts them too, a thousand at once and
 * then 33 per second, but Node 20 does not notice when nghttp2 gives up: the session then reads
 * nothing more, not even the end of the connection. The lower limit here applies first. A session
 * that reached nghttp2's limit otherwise, by resetting closed streams, does not answer a ping.
 *
 * Node's own `session.close` is replaced, see `Http2Conversation.drain`.
 */
export function createHttp2Server(
  limits: ListenerLimits,
  handler: (request: Http2Request, response: Http2Response) => void,
  report: (error: Error) => void,
  count: CountAnswer,
): ProtocolServer {
  const server = http2.createServer({
    // Method, scheme and path are not fields in HTTP/1.1; the authority is `Host`.
    maxHeaderListPairs: limits.maxHeaderFields + 3,
    maxSessionMemory: limits.maxSessionMemoryMib,
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
      initialWindowSize: limits.streamWindowBytes,
    },
  })
  server.on('sessionError', report)

  const answer = (
    connection: ClientConnection,
    request: Http2Request,
    rawHeaders: readonly string[],
  ) => {
    const { stream } = request
    if (stream.closed || stream.destroyed) return
    const response = new CountedHttp2Response(request)
    response.onEnd = () => endStreamEarly(stream, limits.earlyEndTimeoutMs)
    count(connection, request, response)
    if (!http2HeadersFit(rawHeaders, limits)) response.writeHead(431).end()
    else if (admits(request, response)) handler(request, response)
  }

  return {
    speak(connection, socket) {
      if (socket.destroyed) return
      // Node emits 'session' during the emit below, so that this listener gets the session of this
      // socket.
      server.once('session', (session: http2.ServerHttp2Session) => {
        session.setLocalWindowSize(limits.sessionWindowBytes)
        const conversation = new Http2Conversation(connection, session, limits)
        session.close = () => conversation.drain()
        const onStream: OnStream = (stream, headers, _flags, rawHeaders) => {
          conversation.onStream(stream)
          // Runs after the parser has processed one read of the socket, so that a stream that is
          // reset in the same read costs no call.
          const request = new Http2Request(stream, headers, socket)
          setImmediate(() => answer(connection, request, rawHeaders))
        }
        session.on('stream', onStream as Parameters<typeof session.on>[1])
        connection.begin(conversation)
      })
      server.emit('connection', socket)
    },
  }
}

/** A listener for the streams of a session. The types of Node lack the last argument. */
type OnStream = (
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  flags: number,
  rawHeaders: readonly string[],
) => void

/**
 * Tells a client that waits for it to send its content (RFC 9110 §10.1.1). Refuses other
 * expectations and tunnels. Returns whether the request has a handler.
 */
function admits({ headers, method, stream }: Http2Request, response: Http2Response): boolean {
  if (method === 'CONNECT') {
    response.writeHead(405).end()
    return false
  }
  if (headers.expect === undefined) return true
  if (headers.expect !== '100-continue') {
    response.writeHead(417).end()
    return false
  }
  stream.additionalHeaders({ ':status': 100 })
  return true
}

/** The state of an HTTP/2 session: its open streams. */
class Http2Conversation implements Conversation {
  readonly #connection: ClientConnection
  readonly #session: http2.ServerHttp2Session
  readonly #limits: ListenerLimits
  readonly #streams = new Set<http2.ServerHttp2Stream>()
  /** The open streams with a timer. */
  readonly #timed = new WeakSet<http2.ServerHttp2Stream>()
  #draining = false
  /** Whether the client knows which of its requests are served. */
  #announced = false
  readonly #resetCredit: Credit
  requests = 0

  constructor(
    connection: ClientConnection,
    session: http2.ServerHttp2Session,
    limits: ListenerLimits,
  ) {
    this.#connection = connection
    this.#session = session
    this.#limits = limits
    this.#resetCredit = new Credit(limits.maxResetBurst, limits.maxResetsPerSecond)
  }

  get idleTimeoutMs(): number {
    return this.#draining ? this.#limits.lingerTimeoutMs : this.#limits.sessionIdleTimeoutMs
  }

  onStream(stream: http2.ServerHttp2Stream): void {
    // Runs outside of the parser, see `drain`.
    if (this.#draining && this.requests === 0) setImmediate(() => this.#announce())
    this.requests += 1
    this.#streams.add(stream)
    // Errors of a stream are faults of its client, and 'close' follows them.
    stream.on('error', () => {})
    stream.on('close', () => this.#onClose(stream))
    // Streams that begin and are reset in one read of the socket close only after the read. An
    // honest client can exceed the maximum for a moment, but never by this much.
    if (this.#streams.size > 2 * this.#limits.maxConcurrentStreams) this.#connection.evict()
  }

  /** Starts the timers of streams that are still open at a sweep. Most calls end before. */
  onSweep(): void {
    for (const stream of this.#streams) {
      if (this.#timed.has(stream)) continue
      this.#timed.add(stream)
      // Sessions have no byte count per stream. Node's stream timer restarts only with bytes of its
      // own stream.
      stream.setTimeout(this.#limits.stallTimeoutMs)
      stream.on('timeout', () => this.#onSilence(stream))
    }
  }

  isBusy(): boolean {
    return this.#streams.size > 0
  }

  awaitsClient(): boolean {
    for (const stream of this.#streams) if (owesRequestBytes(stream)) return true
    return false
  }

  probe(): boolean {
    if (this.#session.destroyed) return false
    this.#session.ping(() => {
      // The byte count of the socket shows whether there was an answer.
    })
    return true
  }

  /** Closes the session with GOAWAY, and with an error code if streams are open. */
  expire(): void {
    if (this.isBusy())
      this.#session.destroy(new Error('request arrives too slowly'), NGHTTP2_ENHANCE_YOUR_CALM)
    else this.#session.destroy()
    this.#connection.linger()
  }

  /**
   * Announces the end, and ends the session when no stream is open. The first GOAWAY refuses no
   * stream. After the client has received it, a second one names the last stream served (RFC 9113
   * §6.8), so that the client can repeat later requests elsewhere. A client that does not answer the
   * ping has the idle timeout. nghttp2 ignores requests after a GOAWAY, so that a new session gets it
   * after its first request.
   *
   * Replaces `session.close`, which Node 20 calls when the client sends GOAWAY. Until the response
   * to that is sent, Node refuses new streams from within nghttp2's parser, which frees memory that
   * the parser still reads. A GOAWAY and a request in one packet would end the process.
   */
  drain(): void {
    if (this.#draining || this.#session.destroyed) return
    this.#draining = true
    if (this.requests > 0) this.#announce()
  }

  #announce(): void {
    if (this.#session.destroyed) return
    this.#session.goaway(NGHTTP2_NO_ERROR, MAX_STREAM_ID)
    this.#session.ping(() => {
      if (!this.#session.destroyed) this.#session.goaway(NGHTTP2_NO_ERROR)
      this.#announced = true
      this.#endWhenDrained()
    })
  }

  #endWhenDrained(): void {
    if (!this.#announced || this.isBusy()) return
    // Runs outside of the parser, see above.
    setImmediate(() => {
      if (this.isBusy() || this.#session.destroyed) return
      this.#session.destroy()
      this.#connection.linger()
    })
  }

  #onClose(stream: http2.ServerHttp2Stream): void {
    this.#streams.delete(stream)
    this.#endWhenDrained()
    // A client may leave a response that has begun. Before that, the work of the server is wasted.
    if (!stream.headersSent) this.#connection.abandoned(1)
    if (stream.rstCode === NGHTTP2_NO_ERROR) return
    // Destroys the socket rather than the session, which must not be destroyed during a callback of
    // nghttp2's parser.
    if (this.#resetCredit.spend(1) < 0) this.#connection.evict()
  }

  #onSilence(stream: http2.ServerHttp2Stream): void {
    if (owesRequestBytes(stream) || stream.writableLength > 0 || stream.writableEnded)
      stream.close(NGHTTP2_CANCEL)
    else stream.setTimeout(this.#limits.stallTimeoutMs)
  }
}

/**
 * Returns whether the handler waits for bytes of the request. After the response has begun, either
 * side of a bidirectional call may be silent for any time.
 */
function owesRequestBytes(stream: http2.ServerHttp2Stream): boolean {
  if (stream.headersSent || stream.endAfterHeaders || stream.readableLength > 0) return false
  return stream.state.remoteClose === 0
}
