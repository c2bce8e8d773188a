import http2 from 'node:http2'
import type { CountAnswer } from './answers.ts'
import type { ClientConnection, Conversation, ProtocolServer } from './connection.ts'
import { CountedHttp2Response } from './counted-responses.ts'
import { Credit } from './credit.ts'
import { endStreamEarly, Http2Request } from './early-end.ts'
import { http2HeadersFit } from './header-list.ts'
import type { ListenerLimits } from './limits.ts'

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR } = http2.constants

// RFC 9113 §5.1.1.
const MAX_STREAM_ID = 2 ** 31 - 1

/**
 * An HTTP/2 server that never listens itself. Pings of clients are answered by nghttp2, which also
 * ends a session that floods it with pings, settings or CONTINUATION frames (CVE-2024-27316);
 * invalid frames and refused streams are counted by node.
 *
 * Reset streams (CVE-2023-44487) are counted here. nghttp2 does so as well, a thousand at once and
 * then 33 a second, but node 20 does not notice when it gives up: the session reads nothing more,
 * not even the end of the connection. The count here comes first, and a session that got there on
 * another way (by resetting streams already closed) is found by a ping it does not answer.
 *
 * Node's own `session.close` is replaced, see `Http2Conversation.drain`.
 */
export function createHttp2Server(
  limits: ListenerLimits,
  handler: (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => void,
  report: (error: Error) => void,
  count: CountAnswer,
): ProtocolServer {
  const connections = new WeakMap<http2.Http2Session, ClientConnection>()
  const server = http2.createServer(
    {
      // The method, the scheme and the path are no fields in HTTP/1.1; the authority is `Host`.
      maxHeaderListPairs: limits.maxHeaderFields + 3,
      maxSessionMemory: limits.maxSessionMemoryMib,
      settings: {
        maxConcurrentStreams: limits.maxConcurrentStreams,
        maxHeaderListSize: limits.maxHeaderBytes,
        initialWindowSize: limits.streamWindowBytes,
      },
      Http2ServerRequest: Http2Request,
      Http2ServerResponse: CountedHttp2Response,
    },
    (request, response) => {
      response.onEnd = () => endStreamEarly(request, limits.earlyEndTimeoutMs)
      // After the parser is done with what one read of the socket brought: a stream that is reset
      // by then costs no call.
      setImmediate(() => {
        const { stream } = request
        if (stream.closed || stream.destroyed) return
        const connection = stream.session && connections.get(stream.session)
        if (connection) count(connection, request, response)
        if (http2HeadersFit(request.rawHeaders, limits)) handler(request, response)
        else response.writeHead(431).end()
      })
    },
  )
  server.on('sessionError', report)

  return {
    speak(connection, socket) {
      if (socket.destroyed) return
      // Node emits 'session' within the emit below, so this listener sees the session of this
      // socket.
      server.once('session', (session: http2.ServerHttp2Session) => {
        connections.set(session, connection)
        session.setLocalWindowSize(limits.sessionWindowBytes)
        const conversation = new Http2Conversation(connection, session, limits)
        session.close = () => conversation.drain()
        session.prependListener('stream', (stream) => conversation.onStream(stream))
        connection.begin(conversation)
      })
      server.emit('connection', socket)
    },
  }
}

/** The state of one HTTP/2 session: its open streams. */
class Http2Conversation implements Conversation {
  readonly #connection: ClientConnection
  readonly #session: http2.ServerHttp2Session
  readonly #limits: ListenerLimits
  readonly #streams = new Set<http2.ServerHttp2Stream>()
  #draining = false
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
    return this.#limits.sessionIdleTimeoutMs
  }

  onStream(stream: http2.ServerHttp2Stream): void {
    this.requests += 1
    this.#streams.add(stream)
    stream.once('close', () => this.#onClose(stream))
    // Streams begun and reset within one read of the socket close only after it, so an honest
    // client can be above its maximum for a moment, but never by this much.
    if (this.#streams.size > 2 * this.#limits.maxConcurrentStreams) this.#connection.evict()
    // Sessions have no byte count per stream; node's stream timer is restarted by the bytes of its
    // own stream only.
    stream.setTimeout(this.#limits.stallTimeoutMs)
    stream.on('timeout', () => this.#onSilence(stream))
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
      // The answer shows in the byte count of the socket, and so does its absence.
    })
    return true
  }

  /** GOAWAY, with the reason when streams are cut off. */
  expire(): void {
    if (this.isBusy())
      this.#session.destroy(new Error('request arrives too slowly'), NGHTTP2_ENHANCE_YOUR_CALM)
    else this.#session.destroy()
    this.#connection.linger()
  }

  /**
   * Announces the end, and ends the session when no stream is open: a GOAWAY that refuses nothing,
   * and when the client has heard it another that names the last stream served (RFC 9113 §6.8), so
   * that it can repeat elsewhere what came too late.
   *
   * Stands in for `session.close`, which node 20 itself calls when the client says GOAWAY. Between
   * that call and the sending of the answer node refuses new streams from within nghttp2's parser,
   * which frees what the parser still reads: a GOAWAY and a request in one packet would end the
   * process.
   */
  drain(): void {
    if (this.#draining || this.#session.destroyed) return
    this.#draining = true
    this.#session.goaway(NGHTTP2_NO_ERROR, MAX_STREAM_ID)
    this.#session.ping(() => {
      if (!this.#session.destroyed) this.#session.goaway(NGHTTP2_NO_ERROR)
    })
    this.#endWhenDrained()
  }

  #endWhenDrained(): void {
    if (!this.#draining || this.isBusy()) return
    // Not from within the parser, see above.
    setImmediate(() => {
      if (this.isBusy() || this.#session.destroyed) return
      this.#session.destroy()
      this.#connection.linger()
    })
  }

  #onClose(stream: http2.ServerHttp2Stream): void {
    this.#streams.delete(stream)
    this.#endWhenDrained()
    // How clients leave an answer that has begun is their business: only before that they make the
    // server work for nothing.
    if (!stream.headersSent) this.#connection.abandoned(1)
    if (stream.rstCode === NGHTTP2_NO_ERROR) return
    // The socket goes, not the session: node must not be told to destroy one while nghttp2 calls
    // back from its parser.
    if (this.#resetCredit.spend(1) < 0) this.#connection.evict()
  }

  #onSilence(stream: http2.ServerHttp2Stream): void {
    if (owesRequestBytes(stream) || stream.writableLength > 0 || stream.writableEnded)
      stream.close(NGHTTP2_CANCEL)
    else stream.setTimeout(this.#limits.stallTimeoutMs)
  }
}

/**
 * Whether the client is still to send its request. Once the answer has begun the two run side by
 * side, and in a bidirectional call either may be silent as long as it likes.
 */
function owesRequestBytes(stream: http2.ServerHttp2Stream): boolean {
  if (stream.headersSent || stream.endAfterHeaders || stream.readableLength > 0) return false
  return stream.state.remoteClose === 0
}
