import type http from 'node:http'
import type { ListenerLimits } from './limits.ts'

/** What RFC 9113 §6.5.2 adds to the name and the value of each field. */
const FIELD_OVERHEAD_BYTES = 32

/** The fields that HTTP/2 has instead of the request line and `Host`, without their values. */
const PSEUDO_FIELD_BYTES =
  ':method:scheme:path'.length +
  'http'.length +
  ':authority'.length -
  'host'.length +
  3 * FIELD_OVERHEAD_BYTES

/** Size of a header list as RFC 9113 §6.5.2 counts it. */
function headerListBytes(rawHeaders: readonly string[]): number {
  let bytes = (rawHeaders.length / 2) * FIELD_OVERHEAD_BYTES
  for (const text of rawHeaders) bytes += text.length
  return bytes
}

/**
 * Whether an HTTP/1.1 request is within the limits that it would have over HTTP/2, so that a
 * request means the same in both.
 */
export function http1HeadersFit(
  { method = '', url = '', rawHeaders }: http.IncomingMessage,
  { maxHeaderFields, maxHeaderBytes }: ListenerLimits,
): boolean {
  const bytes = PSEUDO_FIELD_BYTES + method.length + url.length + headerListBytes(rawHeaders)
  return rawHeaders.length / 2 <= maxHeaderFields && bytes <= maxHeaderBytes
}

/**
 * The same for HTTP/2, where node counts the fields, and the bytes only of a client that has
 * confirmed the limit.
 */
export function http2HeadersFit(
  rawHeaders: readonly string[],
  { maxHeaderBytes }: ListenerLimits,
): boolean {
  return headerListBytes(rawHeaders) <= maxHeaderBytes
}
