import type { MessageInitShape } from '@bufbuild/protobuf'
import type { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'

/**
 * A stream of raw content as the messages of an answer. The first one says what it is, and comes with the first bytes, so that what
 * fails before them can still be refused with a status of its own.
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
