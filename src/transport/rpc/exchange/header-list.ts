import { hopByHopHeaders } from './lazy-headers.ts'

/** Headers of an answer as Node writes them fastest: name, value, name, value. */
export type HeaderList = string[]

/** What names of headers are made of (RFC 9110 5.6.2). */
export const token = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/

/**
 * Whether a text is the name of a header that a call may set: not one that frames or encodes the
 * message.
 */
export function isHeaderName(name: string): boolean {
  return token.test(name) && !isProtocolHeader(name.toLowerCase())
}

/** Whether a header, named in lower case, is the transcoder's to set. */
export function isProtocolHeader(name: string): boolean {
  return hopByHopHeaders.has(name) || contentHeaders.has(name)
}

const contentHeaders = new Set(['content-encoding', 'content-length', 'content-type'])

/**
 * Anything but tab and what ASCII prints: line breaks would end the header, the rest has no agreed
 * encoding.
 */
const unfitForHeader = /[^\t\x20-\x7e]+/gu

/** Text as a header value: characters that a header cannot carry are percent-encoded in UTF-8. */
export function headerValue(text: string): string {
  return text.replace(unfitForHeader, percentEncode)
}

/**
 * Text as `Grpc-Message` (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md,
 * Status-Message), where the percent sign has to be encoded too.
 */
export function grpcMessage(text: string): string {
  return text.replace(/[^\x20-\x24\x26-\x7e]+/gu, percentEncode)
}

/**
 * Every byte as an escape. Unpaired surrogates, for which encodeURIComponent throws, become U+FFFD.
 */
function percentEncode(text: string): string {
  return Array.from(
    Buffer.from(text),
    (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('')
}

/** The value of a header, named in lower case, and undefined if the list does not have it. */
export function findHeader(list: HeaderList, name: string): string | undefined {
  for (let i = 0; i < list.length; i += 2) {
    if (list[i]?.toLowerCase() === name) return list[i + 1]
  }
  return undefined
}
