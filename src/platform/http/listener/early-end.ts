import http from 'node:http'
import http2, { type ServerHttp2Stream } from 'node:http2'
import type { Readable } from 'node:stream'
import type { ContentCollector } from '../../rpc/index.ts'

/** Returns whether a request has content, by its headers. */
export function announcesContent({ headers }: http.IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return coding !== undefined || (length !== undefined && Number(length) !== 0)
}

/**
 * Drops the rest of a request, even one that has a reader. Some clients read the response only
 * after they have sent everything.
 *
 * A listener for `readable` would prevent the request from flowing. Without a listener for `data`,
 * the request would stop when a reader such as an iterator leaves later.
 */
export function discard(request: Readable): void {
  request.unpipe()
  request.removeAllListeners('readable')
  request.removeAllListeners('data')
  request.on('data', () => {})
  request.resume()
}

/** Observes the responses of a connection. */
export interface Http1Answers {
  /** Called before the headers of a response are sent. */
  onHead(request: http.IncomingMessage, response: http.ServerResponse): void
  /** Called when the end of a response is written, before it is sent. */
  onEnd(request: http.IncomingMessage, response: http.ServerResponse): void
}

/**
 * A request whose reader may stop early. Node would destroy the request and stop reading its
 * connection, which the response and other requests need.
 */
export class Http1Request extends http.IncomingMessage {
  #collector: ContentCollector | undefined

  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<Buffer> {
    return this.iterator({ destroyOnReturn: false })
  }

  /**
   * Passes the content to a collector, unless some has arrived already. The listeners that content
   * usually needs cost as much as a quarter of a small call.
   */
  collect(collector: ContentCollector): boolean {
    if (this.complete || this.readableLength > 0) return false
    this.#collector = collector
    return true
  }

  /** Node's parser calls this method with each chunk, and with null at the end. */
  override push(chunk: Buffer | null): boolean {
    const collector = this.#collector
    if (collector === undefined) return super.push(chunk)
    if (chunk !== null && collector.take(chunk)) return true
    this.#collector = undefined
    if (chunk !== null) return false
    collector.end()
    return super.push(null)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#collector?.abort()
    this.#collector = undefined
    super._destroy(error, callback)
  }
}

/** A response that reports its progress. */
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

/**
 * Ends an HTTP/2 stream whose response has ended before its request (RFC 9113 §8.1). Drops the rest
 * of the request for `lingerMs`, then asks the client to stop by RST_STREAM with NO_ERROR. Without
 * the delay, the frame could overtake the end of the response, and clients such as curl would
 * report a broken stream.
 */
export function endStreamEarly(stream: ServerHttp2Stream, lingerMs: number): void {
  if (stream.endAfterHeaders || stream.readableEnded) return
  discard(stream)
  const timer = setTimeout(() => {
    if (stream.state.localClose === 1) stream.close(http2.constants.NGHTTP2_NO_ERROR)
    else {
      // Read nothing more until the client has read the response.
      stream.pause()
      timer.refresh()
    }
  }, lingerMs)
  stream.once('close', () => clearTimeout(timer))
}
