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
 * An HTTP/1.1 server that never listens itself. Node's parser, pipelining and keep-alive do the
 * work; its own checks of unfinished requests run only in a server that listens, and bound the
 * whole request where a large push may take hours, so they are off and `ClientConnection.inspect` does
 * theirs.
 *
 * `Upgrade` is ignored and CONNECT closes the connection: node's behaviour for a server without
 * such listeners.
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
  // Node drops what is beyond, so there has to be one more to see that there is.
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

/** The state of one HTTP/1.1 connection: its latest request, which pipelining answers last. */
class Http1Conversation implements Conversation, Http1Answers {
  readonly connection: ClientConnection
  readonly #socket: Socket
  readonly #limits: ListenerLimits
  #request: http.IncomingMessage | undefined
  #response: http.ServerResponse | undefined
  #settledBytesRead = 0
  #draining = false
  #closing = false
  /** Answers that have begun: who leaves in the middle of one has not abandoned its request. */
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
   * Between requests node's keep-alive timer closes a silent connection; this bounds one that
   * trickles headers instead.
   */
  get idleTimeoutMs(): number {
    const { headersTimeoutMs, keepAliveTimeoutMs } = this.#limits
    return this.requests === 0 ? headersTimeoutMs : keepAliveTimeoutMs + headersTimeoutMs
  }

  /**
   * Runs for every request, so it stores two references and little more. Returns whether to answer
   * the request.
   */
  onRequest(request: http.IncomingMessage, response: Http1Response): boolean {
    // After an answer that announces the end nothing more is taken from the client (RFC 9112 §9.6).
    if (this.#closing) return false
    this.requests += 1
    this.#request = request
    this.#response = response
    response.answers = this
    if (this.#draining) this.#closeAfter(response)
    return true
  }

  /**
   * Announces the end of the connection with an answer that begins before a request of unknown or
   * large size has arrived.
   */
  onHead(request: http.IncomingMessage, response: http.ServerResponse): void {
    this.#answers += 1
    if (request.complete || !announcesContent(request)) return
    const announcedBytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
    if (announcedBytes > this.#limits.maxSkippedBytes) response.setHeader('Connection', 'close')
  }

  /** Gives a request that the answer came before `earlyEndTimeoutMs` to arrive, and drops it. */
  onEnd(request: http.IncomingMessage, response: http.ServerResponse): void {
    if (request.complete || !announcesContent(request)) return
    discard(request)
    const timer = setTimeout(() => {
      if (response.writableFinished) this.#socket.destroy()
      else {
        // The client has yet to take the answer, and until then nothing more is taken from it.
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
    // An idle connection should not keep the headers and the body of its last request in memory.
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
   * Node's socket timer: no byte came or went for `stallTimeoutMs`, or for the keep-alive time
   * after an answer. A request that does not arrive is left to `ClientConnection.inspect`, and silence
   * while the handler works is no offence.
   */
  onSilence(): void {
    if (!this.isBusy() || this.#socket.writableLength > 0) this.#socket.destroy()
    else this.#socket.setTimeout(this.#limits.stallTimeoutMs)
  }

  /**
   * A connection on which nothing came since the last answer gets no 408: browsers show it to users
   * as the next answer.
   */
  expire(): void {
    if (!this.isBusy() && this.#socket.bytesRead === this.#settledBytesRead) this.#socket.destroy()
    else this.refuse(408)
  }

  /**
   * Answers with an empty response in the place of the current one, if that is still possible, and
   * closes.
   */
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

  drain(): void {
    this.#draining = true
    if (this.isBusy() && this.#response !== undefined) this.#closeAfter(this.#response)
    else this.#socket.destroySoon()
  }

  /**
   * Stands in for `socket.destroySoon`, which node calls after an answer that announces the end.
   * Closing while the client still sends would reset the connection and could take the answer away
   * (RFC 9112 §9.6), so at first only the sending half is closed.
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
   * Answers keep the order of requests (RFC 9112 §9.3.2): one out of turn would be taken for that
   * of an earlier request.
   */
  #mayAnswer(): boolean {
    if (!this.#socket.writable) return false
    if (!this.isBusy() || this.#response === undefined) return true
    const itsTurn = this.#response.socket === this.#socket
    return itsTurn && !this.#response.headersSent && this.#request?.complete === false
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
