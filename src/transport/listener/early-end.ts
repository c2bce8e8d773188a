import http from 'node:http'
import http2 from 'node:http2'
import type { Readable } from 'node:stream'

/** Announces content of unknown length, or of any but none. */
export function announcesContent({ headers }: http.IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return coding !== undefined || (length !== undefined && Number(length) !== 0)
}

/**
 * Drops what has arrived of a request and what still arrives, whoever was reading it: a client that
 * reads the answer only when it has sent everything gets to read it.
 *
 * A listener for `readable` would keep the request from flowing, and without one for `data` it
 * would stop when such a reader, an iterator for instance, leaves later.
 */
export function discard(request: Readable): void {
  request.unpipe()
  request.removeAllListeners('readable')
  request.removeAllListeners('data')
  request.on('data', () => {})
  request.resume()
}

/** Told how far the answers of a connection are. */
export interface Http1Answers {
  /** Called before the head of an answer is sent. */
  onHead(request: http.IncomingMessage, response: http.ServerResponse): void
  /** Called when the last of an answer is written, which has not gone out yet. */
  onEnd(request: http.IncomingMessage, response: http.ServerResponse): void
}

/**
 * A request that its reader may leave early: node would destroy it, take its socket away, and read
 * nothing more of a connection over which the answer and other requests are to go.
 */
export class Http1Request extends http.IncomingMessage {
  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<Buffer> {
    return this.iterator({ destroyOnReturn: false })
  }
}

/** A response that says how far it is. */
export class Http1Response extends http.ServerResponse<Http1Request> {
  answers: Http1Answers | undefined

  override writeHead(...args: unknown[]): this {
    if (!this.headersSent) this.answers?.onHead(this.req, this)
    return Reflect.apply(super.writeHead, this, args)
  }

  override end(...args: unknown[]): this {
    const isFirst = !this.writableEnded
    Reflect.apply(super.end, this, args)
    if (isFirst) this.answers?.onEnd(this.req, this)
    return this
  }
}

/** The same as `Http1Request` for HTTP/2. */
export class Http2Request extends http2.Http2ServerRequest {
  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<Buffer> {
    return this.iterator({ destroyOnReturn: false })
  }
}

/** A response that says when it ends. */
export class Http2Response extends http2.Http2ServerResponse<Http2Request> {
  onEnd: (() => void) | undefined

  override end(...args: unknown[]): this {
    const isFirst = !this.writableEnded
    Reflect.apply(super.end, this, args)
    if (isFirst && !this.stream.destroyed) this.onEnd?.()
    return this
  }
}

/**
 * Ends an HTTP/2 stream whose answer has ended before its request (RFC 9113 §8.1): drops the rest
 * of the request for `lingerMs`, then asks the client to stop by RST_STREAM with NO_ERROR. Asking
 * at once could overtake the end of the answer, and clients such as curl would report a broken
 * stream instead of the answer.
 */
export function endStreamEarly(request: http2.Http2ServerRequest, lingerMs: number): void {
  const { stream } = request
  if (stream.endAfterHeaders || stream.readableEnded) return
  discard(request)
  const timer = setTimeout(() => {
    if (stream.state.localClose === 1) stream.close(http2.constants.NGHTTP2_NO_ERROR)
    else {
      // The client has yet to take the answer, and until then nothing more is taken from it.
      request.pause()
      timer.refresh()
    }
  }, lingerMs)
  stream.once('close', () => clearTimeout(timer))
}
