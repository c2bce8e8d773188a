import type { CreateReleaseAssetRequest } from '#gen/branchline/v1/release_service_pb.ts'
import { DomainError } from '../domain/errors.ts'

/** A file as it comes. */
export interface UploadedFile {
  /** As the sender calls it; empty when nothing says so. */
  readonly name: string
  readonly content: AsyncIterable<Uint8Array>
}

/**
 * Handles an upload: its first message says what it is about, and only when that is settled is the file read.
 *
 * @param handle gets the first message, and what begins to read the file.
 * @throws INVALID_UPLOAD for no message at all
 */
export async function readUpload<T>(
  requests: AsyncIterable<CreateReleaseAssetRequest>,
  handle: (first: CreateReleaseAssetRequest, file: () => Promise<UploadedFile>) => Promise<T>,
): Promise<T> {
  const iterator = requests[Symbol.asyncIterator]()
  try {
    const { done, value: first } = await iterator.next()
    if (done) throw new DomainError('INVALID_UPLOAD')
    const content = chunksOf(first, iterator)
    return await handle(first, async () => ({ name: '', content }))
  } finally {
    await iterator.return?.()
  }
}

async function* chunksOf(
  first: CreateReleaseAssetRequest,
  rest: AsyncIterator<CreateReleaseAssetRequest>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let request = first
  for (;;) {
    const data = request.attachment?.data
    if (data && data.length > 0) yield data
    const next = await rest.next()
    if (next.done) return
    request = next.value
  }
}
