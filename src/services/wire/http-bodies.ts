import type { MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import type { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'

/**
 * A stream of raw content as the messages of an answer. The first one says what it is, and comes
 * with the first bytes, so that what fails before them can still be refused with a status of its
 * own.
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
 * A stream of text as the messages of an answer. Strangers write what is in it: browsers must take
 * it for nothing else.
 */
export function plainText(
  { responseHeader }: Pick<HandlerContext, 'responseHeader'>,
  chunks: AsyncIterable<Buffer>,
): ReturnType<typeof httpBodies> {
  responseHeader.set('x-content-type-options', 'nosniff')
  return httpBodies('text/plain; charset=utf-8', chunks)
}

/**
 * Strangers write what is sent, and name it: browsers must take it for nothing that acts, on the
 * forge's own origin least of all.
 */
export function setFileHeaders(
  { responseHeader }: HandlerContext,
  disposition: 'inline' | 'attachment',
  name: string,
): void {
  responseHeader.set('x-content-type-options', 'nosniff')
  responseHeader.set('content-security-policy', "default-src 'none'; sandbox")
  responseHeader.set('cache-control', 'private, no-cache')
  // Both forms: curl and others know the old one only (RFC 6266 appendix D).
  const names = `filename="${plainValue(name)}"; filename*=UTF-8''${extendedValue(name)}`
  responseHeader.set('content-disposition', `${disposition}; ${names}`)
}

/** What is not ASCII, ends the text, or might be decoded, becomes an underscore. */
function plainValue(text: string): string {
  return text.replace(/[^ -~]|["\\%]/gu, '_')
}

/** RFC 8187 section 3.2.1: some of what encodeURIComponent leaves alone has to be encoded. */
function extendedValue(text: string): string {
  const encode = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(text).replace(/['()*]/g, encode)
}
