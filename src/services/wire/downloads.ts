import type { HandlerContext } from '@connectrpc/connect'
import { type ByteRange, readRange } from '../../domain/repos/reading/byte-ranges.ts'
import { restStatusKey } from './call.ts'
import { setFileHeaders } from './http-bodies.ts'

/** What the headers of a file say of it. */
export interface DownloadHeaders {
  readonly disposition: 'inline' | 'attachment'
  readonly name: string
  /** As a header has it (RFC 9110 section 8.8.3): with quotation marks, and `W/` for a weak tag. */
  readonly entityTag: string
  /** Of the whole file; undefined when the size is not known before the file is made. */
  readonly bytes: number | undefined
  /** The part that is sent; undefined for the whole file. */
  readonly range: ByteRange | undefined
}

/** The text of the range that a caller wants; undefined for the whole file. */
export function rangeTextOf(
  { requestHeader }: HandlerContext,
  entityTag: string,
): string | undefined {
  // RFC 9110 section 13.1.5: who has the beginning of something else gets the whole.
  const isPartWanted = (requestHeader.get('if-range') ?? entityTag) === entityTag
  return isPartWanted ? (requestHeader.get('range') ?? undefined) : undefined
}

/**
 * The range that a caller wants of a file.
 *
 * @throws RANGE_NOT_SATISFIABLE
 */
export function rangeOf(
  context: HandlerContext,
  entityTag: string,
  bytes: number,
): ByteRange | undefined {
  const text = rangeTextOf(context, entityTag)
  return text === undefined ? undefined : readRange(text, bytes)
}

/** Sets the headers of a file that is sent, and the status of a part. */
export function setDownloadHeaders(context: HandlerContext, file: DownloadHeaders): void {
  const { protocolName, responseHeader, values } = context
  const { disposition, name, entityTag, bytes, range } = file
  setFileHeaders(context, disposition, name)
  responseHeader.set('etag', entityTag)
  responseHeader.set('accept-ranges', bytes === undefined ? 'none' : 'bytes')
  if (bytes === undefined) return
  const sentBytes = range ? range.last - range.first + 1 : bytes
  // The RPC protocols frame what they send: there it would be the length of something else.
  if (protocolName === 'rest') responseHeader.set('content-length', String(sentBytes))
  if (!range) return
  responseHeader.set('content-range', `bytes ${range.first}-${range.last}/${bytes}`)
  values.set(restStatusKey, 206)
}

/**
 * Whether a REST caller has a file already, by the tags that it sends (RFC 9110 section 13.1.2).
 * REST answers 304 by itself; this spares the work of making the file.
 */
export function hasFile(
  { protocolName, requestHeader }: HandlerContext,
  entityTag: string,
): boolean {
  const known = protocolName === 'rest' ? requestHeader.get('if-none-match') : null
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return known?.split(',').some((tag) => opaque(tag) === opaque(entityTag)) ?? false
}
