import type { MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import type { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'

/**
 * Converts raw content to the messages of a response. The first message has the content type and
 * the first bytes, so that an earlier failure can still set the status.
 */
export async function* httpBodies(
  contentType: string,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<MessageInitShape<typeof HttpBodySchema>, void, undefined> {
  let isFirst = true
  for await (const data of chunks) {
    yield isFirst ? { contentType, data } : { data }
    isFirst = false
  }
  if (isFirst) yield { contentType }
}

/**
 * Converts text to the messages of a response. Users supply the text, so browsers must not
 * interpret it as anything else.
 */
export function plainText(
  { responseHeader }: Pick<HandlerContext, 'responseHeader'>,
  chunks: AsyncIterable<Buffer>,
): ReturnType<typeof httpBodies> {
  responseHeader.set('x-content-type-options', 'nosniff')
  return httpBodies('text/plain; charset=utf-8', chunks)
}

/**
 * Sets headers for a file. Users supply its content and name, so browsers must neither execute nor
 * render it on the origin of the server.
 */
export function setFileHeaders(
  { responseHeader }: HandlerContext,
  disposition: 'inline' | 'attachment',
  name: string,
): void {
  responseHeader.set('x-content-type-options', 'nosniff')
  responseHeader.set('content-security-policy', "default-src 'none'; sandbox")
  responseHeader.set('cache-control', 'private, no-cache')
  responseHeader.set('content-disposition', dispositionOf(disposition, name))
}

/** Returns the value of `Content-Disposition` for a file. */
export function dispositionOf(disposition: 'inline' | 'attachment', name: string): string {
  // Both forms, because curl and others know only the old one (RFC 6266 appendix D).
  const names = `filename="${plainValue(name)}"; filename*=UTF-8''${extendedValue(name)}`
  return `${disposition}; ${names}`
}

/** Replaces characters by underscores that are not ASCII, end the text, or might be decoded. */
function plainValue(text: string): string {
  return text.replace(/[^ -~]|["\\%]/gu, '_')
}

/** RFC 8187 section 3.2.1. encodeURIComponent leaves some characters that must be encoded. */
function extendedValue(text: string): string {
  const encode = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(text).replace(/['()*]/g, encode)
}
