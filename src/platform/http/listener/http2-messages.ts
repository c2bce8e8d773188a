import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { ContentCollector } from '../../rpc/index.ts'

type Callback = (error?: Error | null) => void
type Chunk = string | Uint8Array
/** A listener for any event. */
type Listener = Parameters<NodeJS.EventEmitter['on']>[1]

/**
 * An HTTP/2 request on a stream of node:http2. The classes of Node's compatibility API copy the
 * content through a second stream and add eleven listeners to each stream, which costs as much as a
 * small call. This class has the members that the server uses.
 */
export class Http2Request {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  /** The socket of the session, which Node shows as a slow proxy. */
  readonly socket: Socket

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, socket: Socket) {
    this.stream = stream
    this.headers = headers
    this.socket = socket
  }

  get httpVersion(): '2.0' {
    return '2.0'
  }

  get httpVersionMajor(): 2 {
    return 2
  }

  get method(): string {
    return String(this.headers[':method'])
  }

  /** The target in origin form, as in HTTP/1.1. */
  get url(): string {
    return String(this.headers[':path'] ?? '')
  }

  /** RFC 9113 §8.3.1: a client that translates HTTP/1.1 may send `Host` only. */
  get authority(): string | undefined {
    const authority = this.headers[':authority'] ?? this.headers.host
    return authority === undefined ? undefined : String(authority)
  }

  get scheme(): string {
    return String(this.headers[':scheme'])
  }

  get destroyed(): boolean {
    return this.stream.destroyed
  }

  get readableEnded(): boolean {
    return this.stream.readableEnded
  }

  on(event: string, listener: Listener): this {
    this.stream.on(event, listener)
    return this
  }

  once(event: string, listener: Listener): this {
    this.stream.once(event, listener)
    return this
  }

  off(event: string, listener: Listener): this {
    this.stream.off(event, listener)
    return this
  }

  pause(): void {
    this.stream.pause()
  }

  resume(): void {
    this.stream.resume()
  }

  pipe<T extends NodeJS.WritableStream>(destination: T): T {
    return this.stream.pipe(destination)
  }

  unpipe(destination: NodeJS.WritableStream): void {
    this.stream.unpipe(destination)
  }

  iterator(options: { destroyOnReturn: boolean }): AsyncIterator<Buffer> & AsyncIterable<Buffer> {
    return this.stream.iterator(options)
  }

  /**
   * Passes the content to a collector if all of it has arrived. Most requests arrive in one packet
   * with their content, and need no listeners.
   */
  collect(collector: ContentCollector): boolean {
    const { stream } = this
    if (stream.state.remoteClose !== 1) return false
    // `read` also reads an end without content, so that the stream can close.
    const content: Buffer | null = stream.read()
    if (content === null || collector.take(content)) collector.end()
    return true
  }
}

/** A response to `Http2Request`. */
export class Http2Response {
  readonly req: Http2Request
  readonly stream: ServerHttp2Stream
  statusCode = 200
  /**
   * Whether trailers follow. Set before the headers: HTTP/2 sends the end of content without
   * trailers together with its last bytes.
   */
  hasTrailers = false
  /** Called when the end of the response is written. */
  onEnd: (() => void) | undefined
  #headers: OutgoingHttpHeaders | undefined
  #trailers: OutgoingHttpHeaders | undefined
  #isEnded = false

  constructor(request: Http2Request) {
    this.req = request
    this.stream = request.stream
  }

  get headersSent(): boolean {
    return this.stream.headersSent
  }

  get destroyed(): boolean {
    return this.stream.destroyed
  }

  get writableEnded(): boolean {
    return this.#isEnded
  }

  get writableFinished(): boolean {
    return this.stream.writableFinished
  }

  get writableLength(): number {
    return this.stream.writableLength
  }

  on(event: string, listener: Listener): this {
    this.stream.on(event, listener)
    return this
  }

  once(event: string, listener: Listener): this {
    this.stream.once(event, listener)
    return this
  }

  off(event: string, listener: Listener): this {
    this.stream.off(event, listener)
    return this
  }

  getHeader(name: string): OutgoingHttpHeaders[string] {
    return this.#headers?.[name.toLowerCase()]
  }

  setHeader(name: string, value: number | string | readonly string[]): this {
    this.#headers ??= {}
    this.#headers[name.toLowerCase()] = typeof value === 'object' ? [...value] : value
    return this
  }

  removeHeader(name: string): void {
    if (this.#headers) delete this.#headers[name.toLowerCase()]
  }

  /**
   * Sends status and headers. They replace headers set before.
   *
   * @param headers a record, or names and values alternately with repeated names for several values.
   */
  writeHead(status: number, headers: OutgoingHttpHeaders | readonly string[] = {}): this {
    this.statusCode = status
    this.#respond(headers, false)
    return this
  }

  addTrailers(trailers: OutgoingHttpHeaders): void {
    this.#trailers = { ...this.#trailers, ...trailers }
  }

  write(chunk: Chunk, encoding: BufferEncoding = 'utf8', callback?: Callback): boolean {
    const { stream } = this
    if (!stream.headersSent) this.#respond({}, false)
    // A client that left reads nothing more, and a response to HEAD has no content.
    if (stream.writable) return stream.write(chunk, encoding, callback)
    if (callback) process.nextTick(callback, destroyed())
    return false
  }

  end(chunk?: Chunk, encoding: BufferEncoding = 'utf8', callback?: Callback): this {
    if (this.#isEnded) return this
    this.#isEnded = true
    const { stream } = this
    if (!stream.headersSent) this.#respond({}, chunk === undefined)
    if (callback) stream.once('finish', callback)
    if (stream.destroyed) return this
    if (chunk === undefined || !stream.writable) stream.end()
    else stream.end(chunk, encoding)
    this.onEnd?.()
    return this
  }

  destroy(): void {
    this.stream.destroy()
  }

  #respond(headers: OutgoingHttpHeaders | readonly string[], endStream: boolean): void {
    const { stream } = this
    if (stream.destroyed || stream.closed) return
    const fields: OutgoingHttpHeaders = { ':status': this.statusCode }
    if (isList(headers)) addList(fields, headers)
    else addRecord(fields, headers)
    if (this.#headers) addRecord(fields, this.#headers)
    // Node ends the stream of a 205 here, whatever follows, so that no length may be announced.
    if (this.statusCode === 205) delete fields['content-length']
    const waitForTrailers = this.hasTrailers && !endStream
    if (waitForTrailers) stream.on('wantTrailers', () => this.#sendTrailers())
    stream.respond(fields, { endStream, waitForTrailers })
  }

  #sendTrailers(): void {
    this.stream.sendTrailers(this.#trailers ?? {})
  }
}

function isList(headers: OutgoingHttpHeaders | readonly string[]): headers is readonly string[] {
  return Array.isArray(headers)
}

/** Adds a list of names and values. A repeated name gets several values. */
function addList(fields: OutgoingHttpHeaders, list: readonly string[]): void {
  for (let i = 0; i < list.length; i += 2) {
    const name = (list[i] ?? '').toLowerCase()
    const value = list[i + 1] ?? ''
    const before = fields[name]
    if (before === undefined) {
      if (!isForConnection(name)) fields[name] = value
    } else if (Array.isArray(before)) before.push(value)
    else fields[name] = [String(before), value]
  }
}

/** Adds the fields of a record whose names are not there yet. */
function addRecord(fields: OutgoingHttpHeaders, record: OutgoingHttpHeaders): void {
  for (const key of Object.keys(record)) {
    const name = key.toLowerCase()
    if (fields[name] === undefined && !isForConnection(name)) fields[name] = record[key]
  }
}

/** RFC 9113 §8.2.2: HTTP/2 has no fields about connections. */
function isForConnection(name: string): boolean {
  return connectionFields.has(name)
}

const connectionFields: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
])

/** Creates Node's error for a write to a destroyed response, which is not a fault of the server. */
export function destroyed(): Error {
  return Object.assign(new Error('the answer was cut off'), { code: 'ERR_STREAM_DESTROYED' })
}
