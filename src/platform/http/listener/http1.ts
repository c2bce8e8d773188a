import http from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { CountAnswer } from './answers.ts'
import type { ClientConnection, Conversation, ProtocolServer } from './connection.ts'
import { CountedHttp1Response } from './counted-responses.ts'
import {
  announcesContent,
  discard,
  type Http1Answers,
  Http1Request,
  type Http1Response,
} from './early-end.ts'
import { http1HeadersFit } from './header-list.ts'
import type { ListenerLimits } from './limits.ts'

/**
 * Creates an HTTP/1.1 server that does not listen itself. Node parses, pipelines and keeps
 * connections alive. Node's request timeouts work only in a listening server, and limit the whole
 * request, while a large push may take hours. They are off, and `ClientConnection.inspect` replaces
 * them.
 *
 * `Upgrade` is ignored and CONNECT closes the connection, as in any Node server without listeners
 * for them.
 */
export function createHttp1Server(
  limits: ListenerLimits,
  handler: (request: http.IncomingMessage, response: http.ServerResponse) => void,
  count: CountAnswer,
): ProtocolServer {
  const conversations = new WeakMap<Duplex, Http1Conversation>()
  const server = http.createServer(
    {
      ServerResponse: CountedHttp1Response,
      maxHeaderSize: limits.maxHeaderBytes,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      headersTimeout: 0,
      requestTimeout: 0,
      insecureHTTPParser: false,
      IncomingMessage: Http1Request,
    },
    (request, response) => {
      const conversation = conversations.get(request.socket)
      if (!conversation?.onRequest(request, response)) return
      if (!http1HeadersFit(request, limits)) return conversation.refuse(431)
      count(conversation.connection, request, response)
      handler(request, response)
    },
  )
  // Node drops further fields silently. One more than allowed shows that there are too many.
  server.maxHeadersCount = limits.maxHeaderFields + 1
  server.timeout = limits.stallTimeoutMs
  server.on('timeout', (socket) => conversations.get(socket)?.onSilence())
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const conversation = conversations.get(socket)
    if (conversation === undefined) socket.destroy()
    else conversation.refuse(statusOfClientError(error))
  })

  return {
    speak(connection, socket) {
      const conversation = new Http1Conversation(connection, socket, limits)
      conversations.set(socket, conversation)
      connection.begin(conversation)
      server.emit('connection', socket)
    },
  }
}

/** The state of an HTTP/1.1 connection: its latest request, which is the last to be answered. */
class Http1Conversation implements Conversation, Http1Answers {
  readonly connection: ClientConnection
  readonly #socket: Socket
  readonly #limits: ListenerLimits
  #request: http.IncomingMessage | undefined
  #response: http.ServerResponse | undefined
  #settledBytesRead = 0
  #draining = false
  #closing = false
  /** Responses that have begun. Only requests without one can be abandoned. */
  #answers = 0
  requests = 0

  constructor(connection: ClientConnection, socket: Socket, limits: ListenerLimits) {
    this.connection = connection
    this.#socket = socket
    this.#limits = limits
    socket.destroySoon = () => this.#closeSoon(Object.getPrototypeOf(socket).destroySoon)
    socket.once('close', () => connection.abandoned(this.requests - this.#answers))
  }

  /**
   * Node's keep-alive timer closes a silent connection between requests. This timeout is for one
   * that sends headers slowly.
   */
  get idleTimeoutMs(): number {
    const { headersTimeoutMs, keepAliveTimeoutMs, lingerTimeoutMs } = this.#limits
    if (this.requests > 0) return keepAliveTimeoutMs + headersTimeoutMs
    return this.#draining ? lingerTimeoutMs : headersTimeoutMs
  }

  /** Records a request. Returns whether to answer the request. */
  onRequest(request: http.IncomingMessage, response: Http1Response): boolean {
    // After a response with `Connection: close`, no further request is answered (RFC 9112 §9.6).
    if (this.#closing) return false
    this.requests += 1
    this.#request = request
    this.#response = response
    response.answers = this
    if (this.#draining) this.#closeAfter(response)
    return true
  }

  /**
   * Adds `Connection: close` to a response that begins before the end of a request of unknown or
   * large size.
   */
  onHead(request: http.IncomingMessage, response: http.ServerResponse): void {
    this.#answers += 1
    if (request.complete || !announcesContent(request)) return
    const announcedBytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
    if (announcedBytes > this.#limits.maxSkippedBytes) response.setHeader('Connection', 'close')
  }

  /** Drops the rest of a request whose response has ended, for at most `earlyEndTimeoutMs`. */
  onEnd(request: http.IncomingMessage, response: http.ServerResponse): void {
    if (request.complete || !announcesContent(request)) return
    discard(request)
    const timer = setTimeout(() => {
      if (response.writableFinished) this.#socket.destroy()
      else {
        // Read nothing more until the client has read the response.
        request.pause()
        timer.refresh()
      }
    }, this.#limits.earlyEndTimeoutMs)
    request.once('close', () => clearTimeout(timer))
    request.once('end', () => {
      clearTimeout(timer)
      if (this.#closing) this.#socket.destroySoon()
    })
  }

  isBusy(): boolean {
    if (this.#request === undefined || this.#response === undefined) return false
    const answered = this.#response.writableFinished || this.#response.destroyed
    if (!answered || !this.#request.complete) return true
    // An idle connection must not hold the headers and the body of its last request in memory.
    this.#request = undefined
    this.#response = undefined
    this.#settledBytesRead = this.#socket.bytesRead
    return false
  }

  awaitsClient(): boolean {
    return (
      this.#request !== undefined && !this.#request.complete && this.#request.readableLength === 0
    )
  }

  probe(): boolean {
    return false
  }

  /**
   * Handles Node's socket timeout: no byte was received or sent for `stallTimeoutMs`, or for the
   * keep-alive time after a response. `ClientConnection.inspect` handles requests that do not
   * arrive, and silence is allowed while the handler works.
   */
  onSilence(): void {
    if (!this.isBusy() || this.#socket.writableLength > 0) this.#socket.destroy()
    else this.#socket.setTimeout(this.#limits.stallTimeoutMs)
  }

  /**
   * Closes the connection with 408. A connection that is silent since the last response gets none,
   * since browsers would show the 408 as the next response.
   */
  expire(): void {
    if (!this.isBusy() && this.#socket.bytesRead === this.#settledBytesRead) this.#socket.destroy()
    else this.refuse(408)
  }

  /** Sends an empty response in place of the current one, if that is still possible, and closes. */
  refuse(statusCode: number): void {
    if (this.#socket.writableEnded) return
    if (!this.#mayAnswer()) {
      this.#socket.destroy()
      return
    }
    this.#socket.end(
      `HTTP/1.1 ${statusCode} ${http.STATUS_CODES[statusCode]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    )
    this.connection.linger()
  }

  drain(isSilenceKept: boolean): void {
    this.#draining = true
    if (this.isBusy() && this.#response !== undefined) this.#closeAfter(this.#response)
    // The first request of a new connection is arriving.
    else if (this.requests > 0 && !isSilenceKept) this.#socket.destroySoon()
  }

  /**
   * Replaces `socket.destroySoon`, which Node calls after a response with `Connection: close`.
   * Closing while the client still sends would reset the connection and could lose the response
   * (RFC 9112 §9.6), so that only the sending half is closed at first.
   */
  #closeSoon(destroySoon: () => void): void {
    this.#closing = true
    const request = this.#request
    if (request === undefined || request.complete || !announcesContent(request))
      destroySoon.call(this.#socket)
    else this.#socket.end()
  }

  #closeAfter(response: http.ServerResponse): void {
    if (!response.headersSent) response.setHeader('Connection', 'close')
    response.once('close', () => {
      if (response === this.#response) this.#socket.destroySoon()
    })
  }

  /**
   * Returns whether a response can be sent now. Responses have the order of the requests (RFC 9112
   * §9.3.2): the client would assign any other to an earlier request.
   */
  #mayAnswer(): boolean {
    if (!this.#socket.writable) return false
    if (!this.isBusy() || this.#response === undefined) return true
    const isNext = this.#response.socket === this.#socket
    return isNext && !this.#response.headersSent && this.#request?.complete === false
  }
}

function statusOfClientError(error: NodeJS.ErrnoException): number {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return 431
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return 413
    default:
      return 400
  }
}
