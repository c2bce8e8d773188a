import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { Writable } from 'node:stream'
import type { ConnectError } from '@connectrpc/connect'
import { isGone } from './cancellation.ts'
import { clientGone, contentTooLarge } from './errors.ts'
import { findHeader, type HeaderList } from './headers.ts'

/** A listener for any event. */
type Listener = Parameters<NodeJS.EventEmitter['on']>[1]

/** The parts of a request in use, which requests of `node:http` and `node:http2` have. */
export interface NodeServerRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly httpVersionMajor: number
  /** Undefined for a stream of HTTP/2 without a session. */
  readonly socket?: object | undefined
  /** Only a request of HTTP/2 has an authority and a stream. */
  readonly authority?: string | undefined
  readonly stream?: Http2Stream
  readonly destroyed: boolean
  readonly readableEnded: boolean
  on(event: string, listener: Listener): unknown
  once(event: string, listener: Listener): unknown
  pause(): unknown
  pipe<T extends NodeJS.WritableStream>(destination: T): T
  iterator(options: { destroyOnReturn: boolean }): AsyncIterable<Buffer>
  /**
   * Passes the content to a collector without the cost of listeners. Returns false if that is not
   * possible. Requests of Node lack this method.
   */
  collect?(collector: ContentCollector): boolean
}

/** Receives the content of a request. */
export interface ContentCollector {
  /** Takes a chunk. Returns false if the rest is not wanted. */
  take(chunk: Buffer): boolean
  /** Called at the end of the content. */
  end(): void
  /** Called if the client leaves before the end. */
  abort(): void
}

/** The parts of a response in use, which responses of `node:http` and `node:http2` have. */
export interface NodeServerResponse {
  readonly headersSent: boolean
  /** Only a response of HTTP/1.1 has a socket. */
  readonly socket?: Pick<Writable, 'write'> | null | undefined
  /** Only a response of HTTP/2 has a stream. */
  readonly stream?: Http2Stream
  readonly destroyed?: boolean
  /**
   * Set before the headers of a response with trailers. Responses of Node do not need it: they wait
   * for trailers at the end of each response.
   */
  hasTrailers?: boolean
  getHeader(name: string): unknown
  setHeader(name: string, value: string | string[]): unknown
  removeHeader(name: string): void
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown
  addTrailers(trailers: Record<string, string>): void
  write(chunk: string | Uint8Array): boolean
  end(): unknown
  end(chunk: string | Uint8Array, encoding?: BufferEncoding): unknown
  destroy(): unknown
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

/** The parts of an HTTP/2 stream in use. */
interface Http2Stream {
  readonly endAfterHeaders: boolean
  readonly destroyed: boolean
  close(code: number): void
}

/** A request and its response. */
export interface HttpExchange {
  readonly request: NodeServerRequest
  readonly response: NodeServerResponse
}

/** A complete response. */
export interface Reply {
  readonly status: number
  /** All headers except those below. */
  readonly headers: HeaderList
  /** Undefined for a response without content. */
  readonly body: string | Uint8Array | undefined
  readonly contentType: string
  readonly contentEncoding?: string
  /** Names of the request headers that the response depends on. */
  readonly vary?: string
}

/**
 * Returns whether responses with a status have no content (RFC 9110 6.4.1). A 205 has the length 0.
 */
export function hasNoContent(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

/**
 * Returns whether content follows the request headers. Content of unknown length may be empty.
 */
export function hasContent(request: NodeServerRequest): boolean {
  if (request.stream) return !request.stream.endAfterHeaders
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  return coding !== undefined || (length !== undefined && Number(length) !== 0)
}

/**
 * Reads the content of a request. Rejects with `tooLarge` as soon as the content is larger than
 * `maxBytes`, before reading if `Content-Length` says so, and with Canceled if the client
 * disconnects.
 */
export function readContent(
  request: NodeServerRequest,
  maxBytes: number,
  tooLarge: (maxBytes: number) => ConnectError = contentTooLarge,
): Promise<Buffer> {
  if (announcedBytes(request) > maxBytes) return Promise.reject(tooLarge(maxBytes))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const collector: ContentCollector = {
      take(chunk) {
        size += chunk.length
        if (size > maxBytes) reject(tooLarge(maxBytes))
        else chunks.push(chunk)
        return size <= maxBytes
      },
      end: () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)),
      abort: () => reject(clientGone()),
    }
    if (!request.collect?.(collector)) collectByListeners(request, collector)
  })
}

function collectByListeners(request: NodeServerRequest, collector: ContentCollector): void {
  // A listener that stays costs less than one that is removed.
  let isOpen = true
  const once = (finish: () => void) => () => {
    if (isOpen) finish()
    isOpen = false
  }
  const abort = once(() => collector.abort())
  request.on('data', (chunk: Buffer) => {
    if (isOpen) isOpen = collector.take(chunk)
    if (!isOpen) request.pause()
  })
  request.on(
    'end',
    once(() => collector.end()),
  )
  request.on('error', abort)
  request.on('close', abort)
}

function announcedBytes(request: NodeServerRequest): number {
  return Number(request.headers['content-length'] ?? 0)
}

/** Returns the scheme and authority of a request. */
export function originOf(request: NodeServerRequest): string {
  const scheme = request.socket && 'encrypted' in request.socket ? 'https' : 'http'
  const authority = request.stream ? request.authority : request.headers.host
  return `${scheme}://${authority ?? 'localhost'}`
}

/**
 * Sends a complete response unless a response has begun or the client is gone. Does not read the
 * request content that is left.
 */
export function send(
  { request, response }: HttpExchange,
  reply: Reply,
  defaults: HeaderList,
): void {
  if (response.headersSent || isGone(response)) return
  const { status, body, contentType, contentEncoding } = reply
  const content = body !== undefined && request.method !== 'HEAD' ? body : undefined
  const headers: HeaderList = []
  const size = body === undefined ? 0 : byteLength(body)
  if (body !== undefined) {
    headers.push('Content-Type', contentType, 'Content-Length', String(size))
    if (contentEncoding !== undefined) headers.push('Content-Encoding', contentEncoding)
  } else if (status !== 204 && status !== 304) {
    headers.push('Content-Length', '0')
  }
  headers.push(...reply.headers)
  addDefaults(headers, defaults, reply.vary)

  writeHead(response, status, headers)
  end(response, content, size)
}

/**
 * Adds the default headers that a response does not set, and merges `Vary`.
 *
 * @param defaults names are in lower case.
 */
export function addDefaults(
  headers: HeaderList,
  defaults: HeaderList,
  vary: string | undefined,
): void {
  let varies = vary
  for (let i = 0; i < defaults.length; i += 2) {
    const [name = '', value = ''] = [defaults[i], defaults[i + 1]]
    if (name === 'vary') varies = varies === undefined ? value : `${value}, ${varies}`
    else if (findHeader(headers, name) === undefined) headers.push(name, value)
  }
  if (varies !== undefined) headers.push('Vary', varies)
}

/** Sends status and headers. Both servers of Node write a flat list fastest. */
export function writeHead(response: NodeServerResponse, status: number, headers: HeaderList): void {
  // Code around this handler, for example CORS, may have set `Vary`. The list would replace it.
  const vary = response.getHeader('vary')
  if (vary !== undefined) {
    response.removeHeader('vary')
    headers.push('Vary', String(vary))
  }
  // The type of Connect lacks the list form of http and http2.
  const list = headers as unknown as Parameters<NodeServerResponse['writeHead']>[1]
  response.writeHead(status, list)
}

function end(
  response: NodeServerResponse,
  content: string | Uint8Array | undefined,
  size: number,
): void {
  if (content === undefined) response.end()
  else if (typeof content !== 'string') response.end(content)
  // Text of as many bytes as characters is ASCII. Node writes latin1 several times faster.
  else response.end(content, size === content.length ? 'latin1' : 'utf8')
}

/** Returns the size of content as sent. */
export function byteLength(content: string | Uint8Array): number {
  return typeof content === 'string' ? Buffer.byteLength(content) : content.length
}

/** Resolves when a stream takes more data or has closed. */
export function drained(stream: Pick<NodeServerResponse, 'on' | 'off'>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done)
      stream.off('close', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
  })
}

/** Adds trailers, which are sent at the end of the response. */
export function addTrailers(response: NodeServerResponse, trailers: HeaderList): void {
  if (trailers.length === 0) return
  const record: Record<string, string> = {}
  for (let i = 0; i < trailers.length; i += 2) record[trailers[i] ?? ''] = trailers[i + 1] ?? ''
  response.addTrailers(record)
}
