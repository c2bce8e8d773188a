import type { ConnectError } from '@connectrpc/connect'
import type { ConnectNodeAdapterOptions } from '@connectrpc/connect-node'
import { contentTooLarge } from '../rest/errors.ts'
import { clientGone, isGone } from './cancellation.ts'
import type { HeaderList } from './header-list.ts'
import { findHeader } from './header-list.ts'

type NodeHandler = NonNullable<ConnectNodeAdapterOptions['fallback']>

/** A request of `node:http`, `node:https` or `node:http2`, as Connect's adapter takes it. */
export type NodeServerRequest = Parameters<NodeHandler>[0]

/** The response to it. */
export type NodeServerResponse = Parameters<NodeHandler>[1]

/** What to send to a client. */
export interface Reply {
  readonly status: number
  /** Headers without those below. */
  readonly headers: HeaderList
  /** Undefined for an answer that has no content by its status. */
  readonly body: string | Uint8Array | undefined
  readonly contentType: string
  readonly contentEncoding?: string
  /** Request headers that the answer depends on. */
  readonly vary?: string
}

/**
 * Statuses whose answers end at the header section (RFC 9110 6.4.1), 205 aside, whose length has to
 * be 0.
 */
export function hasNoContent(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

/**
 * Whether content follows the request headers. May be empty after all if its length is not
 * announced.
 */
export function hasContent(request: NodeServerRequest): boolean {
  if ('stream' in request) return !request.stream.endAfterHeaders
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  return coding !== undefined || (length !== undefined && Number(length) !== 0)
}

/**
 * Reads the content of a request. Rejects with 413 as soon as it is larger than `maxBytes`, without
 * reading if the client announces that, and with Canceled if the client goes away.
 */
export function readContent(request: NodeServerRequest, maxBytes: number): Promise<Buffer> {
  if (announcedBytes(request) > maxBytes) return Promise.reject(contentTooLarge(maxBytes))
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
        settle(contentTooLarge(maxBytes))
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

/** The scheme and authority that a request was sent to. */
export function originOf(request: NodeServerRequest): string {
  const scheme = 'encrypted' in request.socket ? 'https' : 'http'
  const authority = 'authority' in request ? request.authority : request.headers.host
  return `${scheme}://${authority ?? 'localhost'}`
}

/**
 * Sends a complete answer; nothing if one was begun or the client is gone. Content that is still to
 * come is the server's business.
 */
export function send(
  request: NodeServerRequest,
  response: NodeServerResponse,
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
 * Adds the headers of every answer that this one does not set itself, and `Vary` with what both of
 * them vary by.
 *
 * @param defaults with names in lower case.
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

/**
 * Sends status and headers: a flat list of names and values is what both of Node's servers write
 * fastest.
 */
export function writeHead(response: NodeServerResponse, status: number, headers: HeaderList): void {
  // A layer around this one, for example CORS, may have set it already; a header of the list would
  // replace it.
  const vary = response.getHeader('vary')
  if (vary !== undefined) {
    response.removeHeader('vary')
    headers.push('Vary', String(vary))
  }
  // Connect's type leaves out the list form, which http and http2 have.
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
  // As many bytes as characters is ASCII, which Node writes several times faster if it need not
  // look for more.
  else response.end(content, size === content.length ? 'latin1' : 'utf8')
}

/** Size in bytes of content as it is sent. */
export function byteLength(content: string | Uint8Array): number {
  return typeof content === 'string' ? Buffer.byteLength(content) : content.length
}
