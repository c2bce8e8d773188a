import { hopByHopHeaders } from './lazy-headers.ts'

/** Response headers in the form that Node writes fastest: name, value, name, value. */
export type HeaderList = string[]

/** The form of header names (RFC 9110 5.6.2). */
export const token = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/

/** Returns whether a text is the name of a header that a call may set. */
export function isHeaderName(name: string): boolean {
  return token.test(name) && !isProtocolHeader(name.toLowerCase())
}

/** Returns whether only the protocol sets a header, whose name is in lower case. */
export function isProtocolHeader(name: string): boolean {
  return hopByHopHeaders.has(name) || contentHeaders.has(name)
}

const contentHeaders = new Set(['content-encoding', 'content-length', 'content-type'])

/**
 * Characters other than tab and printable ASCII. A line break would end the header, and the others
 * have no standard encoding.
 */
const unfitForHeader = /[^\t\x20-\x7e]+/gu

/** Returns text as a header value, with unfit characters percent-encoded in UTF-8. */
export function headerValue(text: string): string {
  return text.replace(unfitForHeader, percentEncode)
}

/**
 * Returns text as the value of `Grpc-Message`, which encodes the percent sign too
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Status-Message).
 */
export function grpcMessage(text: string): string {
  return text.replace(/[^\x20-\x24\x26-\x7e]+/gu, percentEncode)
}

/** Encodes every byte. Unpaired surrogates become U+FFFD; encodeURIComponent would throw. */
function percentEncode(text: string): string {
  return Array.from(
    Buffer.from(text),
    (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('')
}

/** Returns the value of a header, whose name is in lower case; undefined if it is missing. */
export function findHeader(list: HeaderList, name: string): string | undefined {
  for (let i = 0; i < list.length; i += 2) {
    if (list[i]?.toLowerCase() === name) return list[i + 1]
  }
  return undefined
}
