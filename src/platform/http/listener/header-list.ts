import type http from 'node:http'
import type { ListenerLimits } from './limits.ts'

/** Bytes that RFC 9113 §6.5.2 adds to each field. */
const FIELD_OVERHEAD_BYTES = 32

/** Size of the HTTP/2 fields for the request line and `Host`, without their values. */
const PSEUDO_FIELD_BYTES =
  ':method:scheme:path'.length +
  'http'.length +
  ':authority'.length -
  'host'.length +
  3 * FIELD_OVERHEAD_BYTES

/** Returns the size of a header list by RFC 9113 §6.5.2. */
function headerListBytes(rawHeaders: readonly string[]): number {
  let bytes = (rawHeaders.length / 2) * FIELD_OVERHEAD_BYTES
  for (const text of rawHeaders) bytes += text.length
  return bytes
}

/** Returns whether an HTTP/1.1 request is within the header limits that apply to HTTP/2. */
export function http1HeadersFit(
  { method = '', url = '', rawHeaders }: http.IncomingMessage,
  { maxHeaderFields, maxHeaderBytes }: ListenerLimits,
): boolean {
  const bytes = PSEUDO_FIELD_BYTES + method.length + url.length + headerListBytes(rawHeaders)
  return rawHeaders.length / 2 <= maxHeaderFields && bytes <= maxHeaderBytes
}

/**
 * Returns whether an HTTP/2 request is within the header limits. Node counts the fields, but counts
 * the bytes only for clients that have confirmed the limit.
 */
export function http2HeadersFit(
  rawHeaders: readonly string[],
  { maxHeaderBytes }: ListenerLimits,
): boolean {
  return headerListBytes(rawHeaders) <= maxHeaderBytes
}
