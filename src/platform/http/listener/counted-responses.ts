import http2 from 'node:http2'
import { Http1Response } from './early-end.ts'
import { destroyed, Http2Response } from './http2-messages.ts'
import type { Answer, Outflow, OutgoingConnection } from './outgoing.ts'

/** Bytes of a complete response that are written at a time, so that the reader's speed shows. */
const SLICE_BYTES = 128 * 1024

type Callback = (error: Error) => void
type Chunk = string | Uint8Array

/** A response of either version of HTTP. */
interface Response {
  readonly writableLength: number
  once(event: 'close' | 'drain', listener: () => void): unknown
}

/** The operations of a response class without counting. */
interface Plain<R extends Response> {
  write(
    response: R,
    chunk: Chunk,
    encoding: BufferEncoding,
    callback: Callback | undefined,
  ): boolean
  end(
    response: R,
    chunk: Chunk | undefined,
    encoding: BufferEncoding,
    callback: Callback | undefined,
  ): void
  cutOff(response: R): void
  isGone(response: R): boolean
  isBodiless(response: R): boolean
}

/**
 * Writes a response and counts its bytes. A complete response is written in slices, each after the
 * transport has taken the one before. A response that would exceed a limit is not sent.
 */
class Counter<R extends Response> implements Outflow {
  readonly answer: Answer
  readonly #response: R
  readonly #plain: Plain<R>
  #isCutOff = false
  /** Chunks that are not written yet. */
  readonly #queue: { bytes: Uint8Array; readonly callback: Callback | undefined }[] = []
  #queuedBytes = 0
  /** Ends the response when the queue is empty. Set once the end was requested. */
  #end: (() => void) | undefined

  constructor(
    response: R,
    plain: Plain<R>,
    connection: OutgoingConnection,
    network: string | undefined,
  ) {
    this.#response = response
    this.#plain = plain
    this.answer = connection.begin(this, network)
  }

  get waitingBytes(): number {
    return this.#queuedBytes + this.#response.writableLength
  }

  once(event: 'close', listener: () => void): unknown {
    return this.#response.once(event, listener)
  }

  get isGone(): boolean {
    return this.#plain.isGone(this.#response)
  }

  cutOff(): void {
    this.#isCutOff = true
    this.#dropQueue()
    this.#plain.cutOff(this.#response)
  }

  write(chunk: Chunk, encoding: BufferEncoding, callback: Callback | undefined): boolean {
    if (!this.#admits(chunk)) {
      if (callback) process.nextTick(callback, destroyed())
      return false
    }
    if (this.#goesInSlices(chunk)) {
      this.#writeInSlices(chunk, encoding, callback)
      return false
    }
    const hasRoom = this.#plain.write(this.#response, chunk, encoding, callback)
    this.answer.wrote(chunk.length)
    return hasRoom
  }

  end(chunk: Chunk | undefined, encoding: BufferEncoding, callback: Callback | undefined): void {
    if (chunk !== undefined && !this.#admits(chunk)) return
    let content = chunk
    if (content !== undefined && this.#goesInSlices(content)) {
      this.#writeInSlices(content, encoding, undefined)
      content = undefined
    }
    const endNow = () => this.#endNow(content, encoding, callback)
    if (this.#queue.length === 0) endNow()
    else this.#end = endNow
  }

  #endNow(
    chunk: Chunk | undefined,
    encoding: BufferEncoding,
    callback: Callback | undefined,
  ): void {
    this.answer.isEnded = true
    this.#plain.end(this.#response, chunk, encoding, callback)
    this.answer.wrote(chunk?.length ?? 0)
  }

  /** Returns whether the limits allow a chunk. Otherwise cuts the response off. */
  #admits({ length }: Chunk): boolean {
    if (this.#isCutOff) return false
    const { answer } = this
    if (answer.isStream || answer.isShared) return true
    if (answer.lacks(length) === undefined) return true
    this.cutOff()
    return false
  }

  /**
   * Returns whether a chunk is written in slices. A stream of messages already follows the speed of
   * its reader. Chunks behind slices wait for them.
   */
  #goesInSlices({ length }: Chunk): boolean {
    // A response to HEAD has no content, and its HTTP/2 stream closes before a second slice.
    if (this.#plain.isBodiless(this.#response)) return false
    return this.#queue.length > 0 || (length > SLICE_BYTES && !this.answer.isStream)
  }

  #writeInSlices(chunk: Chunk, encoding: BufferEncoding, callback: Callback | undefined): void {
    // The transport would copy a text and hold both.
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    this.#queuedBytes += bytes.length
    this.answer.wrote(bytes.length)
    if (this.#queue.push({ bytes, callback }) > 1) return
    this.#response.once('close', () => this.#dropQueue())
    this.#writeQueue()
  }

  #dropQueue(): void {
    this.#queuedBytes = 0
    for (const { callback } of this.#queue.splice(0))
      if (callback) process.nextTick(callback, destroyed())
  }

  #writeQueue(): void {
    let hasRoom = true
    for (let head = this.#queue[0]; hasRoom && head !== undefined; head = this.#queue[0]) {
      const slice = head.bytes.subarray(0, SLICE_BYTES)
      head.bytes = head.bytes.subarray(SLICE_BYTES)
      this.#queuedBytes -= slice.length
      const isLast = head.bytes.length === 0
      if (isLast) this.#queue.shift()
      hasRoom = this.#plain.write(this.#response, slice, 'utf8', isLast ? head.callback : undefined)
    }
    this.answer.measure()
    if (this.#queue.length > 0) this.#response.once('drain', () => this.#writeQueue())
    else this.#end?.()
  }
}

const plainHttp1: Plain<Http1Response> = {
  write: (response, chunk, encoding, callback) =>
    Reflect.apply(Http1Response.prototype.write, response, [chunk, encoding, callback]),
  end: (response, chunk, encoding, callback) =>
    Reflect.apply(Http1Response.prototype.end, response, [chunk, encoding, callback]),
  cutOff: (response) => response.destroy(),
  isGone: (response) => response.destroyed,
  isBodiless: (response) => response.req.method === 'HEAD',
}

/** An HTTP/1.1 response, counted after `beginCounting`. */
export class CountedHttp1Response extends Http1Response {
  #counter: Counter<Http1Response> | undefined

  beginCounting(connection: OutgoingConnection, network: string | undefined): Answer {
    this.#counter = new Counter(this, plainHttp1, connection, network)
    return this.#counter.answer
  }

  override write(chunk: Chunk, encoding?: BufferEncoding | Callback, callback?: Callback): boolean {
    const args = argumentsOf(encoding, callback)
    return this.#counter?.write(chunk, ...args) ?? plainHttp1.write(this, chunk, ...args)
  }

  override end(
    chunk?: Chunk | Callback,
    encoding?: BufferEncoding | Callback,
    callback?: Callback,
  ): this {
    const [content, ...args] = endArgumentsOf(chunk, encoding, callback)
    if (this.#counter) this.#counter.end(content, ...args)
    else plainHttp1.end(this, content, ...args)
    return this
  }
}

const plainHttp2: Plain<Http2Response> = {
  write: (response, chunk, encoding, callback) =>
    Reflect.apply(Http2Response.prototype.write, response, [chunk, encoding, callback]),
  end: (response, chunk, encoding, callback) =>
    Reflect.apply(Http2Response.prototype.end, response, [chunk, encoding, callback]),
  // gRPC maps this code to RESOURCE_EXHAUSTED (doc/PROTOCOL-HTTP2.md of the gRPC project).
  cutOff: (response) => response.stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM),
  isGone: (response) => response.stream.destroyed,
  isBodiless: (response) => response.req.method === 'HEAD',
}

/** An HTTP/2 response, counted after `beginCounting`. */
export class CountedHttp2Response extends Http2Response {
  #counter: Counter<Http2Response> | undefined

  beginCounting(connection: OutgoingConnection, network: string | undefined): Answer {
    this.#counter = new Counter(this, plainHttp2, connection, network)
    return this.#counter.answer
  }

  override write(chunk: Chunk, encoding?: BufferEncoding | Callback, callback?: Callback): boolean {
    const args = argumentsOf(encoding, callback)
    return this.#counter?.write(chunk, ...args) ?? plainHttp2.write(this, chunk, ...args)
  }

  override end(
    chunk?: Chunk | Callback,
    encoding?: BufferEncoding | Callback,
    callback?: Callback,
  ): this {
    const [content, ...args] = endArgumentsOf(chunk, encoding, callback)
    if (this.#counter) this.#counter.end(content, ...args)
    else plainHttp2.end(this, content, ...args)
    return this
  }
}

function argumentsOf(
  encoding: BufferEncoding | Callback | undefined,
  callback: Callback | undefined,
): [BufferEncoding, Callback | undefined] {
  return typeof encoding === 'function' ? ['utf8', encoding] : [encoding ?? 'utf8', callback]
}

function endArgumentsOf(
  chunk: Chunk | Callback | null | undefined,
  encoding: BufferEncoding | Callback | undefined,
  callback: Callback | undefined,
): [Chunk | undefined, BufferEncoding, Callback | undefined] {
  if (typeof chunk === 'function') return [undefined, 'utf8', chunk]
  return [chunk ?? undefined, ...argumentsOf(encoding, callback)]
}
