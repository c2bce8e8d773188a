import type { HandlerContext } from '@connectrpc/connect'
import { type ByteRange, readRange } from '../byte-ranges.ts'
import { restStatusKey } from './call.ts'
import { setFileHeaders } from './http-bodies.ts'

/** The properties of a file that its response headers state. */
export interface DownloadHeaders {
  readonly disposition: 'inline' | 'attachment'
  readonly name: string
  /**
   * As in the ETag header (RFC 9110 section 8.8.3): with quotation marks, and `W/` for a weak tag.
   */
  readonly entityTag: string
  /** The size of the whole file; undefined when it is not known in advance. */
  readonly bytes: number | undefined
  /** The part that is sent; undefined for the whole file. */
  readonly range: ByteRange | undefined
}

/** Returns the text of the requested range; undefined for the whole file. */
export function rangeTextOf(
  { requestHeader }: HandlerContext,
  entityTag: string,
): string | undefined {
  // A client with a part of another version gets the whole file (RFC 9110 section 13.1.5).
  const isPartWanted = (requestHeader.get('if-range') ?? entityTag) === entityTag
  return isPartWanted ? (requestHeader.get('range') ?? undefined) : undefined
}

/** Returns the requested range of a file; undefined for the whole file. */
export function rangeOf(
  context: HandlerContext,
  entityTag: string,
  bytes: number,
): ByteRange | undefined {
  const text = rangeTextOf(context, entityTag)
  return text === undefined ? undefined : readRange(text, bytes)
}

/** Sets the headers of a file, and the status of a partial response. */
export function setDownloadHeaders(context: HandlerContext, file: DownloadHeaders): void {
  const { protocolName, responseHeader, values } = context
  const { disposition, name, entityTag, bytes, range } = file
  setFileHeaders(context, disposition, name)
  responseHeader.set('etag', entityTag)
  responseHeader.set('accept-ranges', bytes === undefined ? 'none' : 'bytes')
  if (bytes === undefined) return
  const sentBytes = range ? range.last - range.first + 1 : bytes
  // The RPC protocols frame messages, so their Content-Length is another one.
  if (protocolName === 'rest') responseHeader.set('content-length', String(sentBytes))
  if (!range) return
  responseHeader.set('content-range', `bytes ${range.first}-${range.last}/${bytes}`)
  values.set(restStatusKey, 206)
}

/**
 * Uses of a file by a page or its script (`Sec-Fetch-Dest`). The Content-Security-Policy of the pages
 * allows files of this server only.
 */
const USED_BY_PAGES = new Set(['image', 'video', 'audio', 'track', 'empty'])

/** Returns the method of a client that follows redirects to a store; undefined for other clients. */
export function redirectMethodOf({
  protocolName,
  requestHeader,
  requestMethod,
}: HandlerContext): 'GET' | 'HEAD' | undefined {
  const isRedirected =
    protocolName === 'rest' &&
    !requestHeader.has('if-none-match') &&
    !USED_BY_PAGES.has(requestHeader.get('sec-fetch-dest') ?? '')
  if (!isRedirected) return undefined
  return requestMethod === 'HEAD' ? 'HEAD' : 'GET'
}

/** Sends the client to the URL of a file in a store. */
export function setRedirect({ responseHeader, values }: HandlerContext, url: string): void {
  responseHeader.set('location', url)
  // The URL is secret, and ends.
  responseHeader.set('cache-control', 'no-store')
  values.set(restStatusKey, 302)
}

/**
 * Returns whether a REST client has the file already, by the tags that it sends (RFC 9110 section
 * 13.1.2). The REST transport answers 304 anyway; this check saves the work of creating the file.
 */
export function hasFile(
  { protocolName, requestHeader }: HandlerContext,
  entityTag: string,
): boolean {
  const known = protocolName === 'rest' ? requestHeader.get('if-none-match') : null
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return known?.split(',').some((tag) => opaque(tag) === opaque(entityTag)) ?? false
}
