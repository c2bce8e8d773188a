import type { Writable } from 'node:stream'
import type { ConnectError } from '@connectrpc/connect'
import type { ConnectNodeAdapterOptions } from '@connectrpc/connect-node'
import { isGone } from './cancellation.ts'
import { clientGone, contentTooLarge } from './errors.ts'
import type { HeaderList } from './header-list.ts'
import { findHeader } from './header-list.ts'

type NodeHandler = NonNullable<ConnectNodeAdapterOptions['fallback']>

/** A request of `node:http`, `node:https` or `node:http2`. */
export type NodeServerRequest = Parameters<NodeHandler>[0]

/** A response to such a request. */
export type NodeServerResponse = Parameters<NodeHandler>[1]

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
  if ('stream' in request) return !request.stream.endAfterHeaders
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
    const settle = (error?: ConnectError) => {
      request.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone)
      if (error === undefined)
        resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
      else reject(error)
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      else {
        request.pause()
        settle(tooLarge(maxBytes))
      }
    }
    const onEnd = () => settle()
    const onGone = () => settle(clientGone())
    request.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone)
  })
}

function announcedBytes(request: NodeServerRequest): number {
  return Number(request.headers['content-length'] ?? 0)
}

/** Returns the scheme and authority of a request. */
export function originOf(request: NodeServerRequest): string {
  const scheme = 'encrypted' in request.socket ? 'https' : 'http'
  const authority = 'authority' in request ? request.authority : request.headers.host
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
export function drained(stream: Pick<Writable, 'on' | 'off'>): Promise<void> {
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
