import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import type { CreateReleaseAssetRequest } from '#gen/branchline/v1/release_service_pb.ts'
import { DomainError } from '../../domain/core/errors.ts'

/** A file as it comes. */
export interface UploadedFile {
  /** As the sender calls it; empty when nothing says so. */
  readonly name: string
  readonly content: AsyncIterable<Uint8Array>
}

/** The field of a form that has the file. */
const FILE_FIELD = 'attachment'

/** What a form may have beside the file: its boundaries, and fields that mean nothing here. */
const MAX_FORM_BYTES = 1024 * 1024

/** Far more than any page sends. Each costs as much as some thousand bytes of a file. */
const MAX_PARTS = 100

/**
 * Handles an upload: its first message says what it is about, and only when that is settled is the
 * file read.
 *
 * @param maxBytes most bytes of a file.
 * @param handle gets the first message, and what begins to read the file: it rejects with
 *   INVALID_UPLOAD and ASSET_TOO_LARGE.
 * @throws INVALID_UPLOAD for no message at all, and what `handle` throws.
 */
export async function readUpload<T>(
  requests: AsyncIterable<CreateReleaseAssetRequest>,
  maxBytes: number,
  handle: (first: CreateReleaseAssetRequest, file: () => Promise<UploadedFile>) => Promise<T>,
): Promise<T> {
  const iterator = requests[Symbol.asyncIterator]()
  const ended = new AbortController()
  try {
    const { done, value: first } = await iterator.next()
    if (done) throw new DomainError('INVALID_UPLOAD')
    const chunks = chunksOf(first, iterator)
    const contentType = first.attachment?.contentType ?? ''
    const isForm = /^multipart\/form-data\b/i.test(contentType)
    return await handle(first, async () =>
      isForm
        ? readForm(contentType, chunks, maxBytes, ended.signal)
        : { name: '', content: chunks },
    )
  } finally {
    ended.abort()
    // Not awaited: a sender that has stopped sending would be waited for.
    iterator.return?.().catch(() => {})
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

/** The file in a form (RFC 7578), which is read no faster than its file. */
async function readForm(
  contentType: string,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<UploadedFile> {
  const form = openForm(contentType)
  let failure: unknown
  let isFound = false
  async function* bounded() {
    let bytes = 0
    try {
      for await (const chunk of source) {
        bytes += chunk.length
        if (bytes > maxBytes + MAX_FORM_BYTES) {
          throw new DomainError('ASSET_TOO_LARGE', { max_bytes: String(maxBytes) })
        }
        yield chunk
      }
    } catch (error) {
      failure = error
      throw error
    }
  }
  form.on('partsLimit', () => {
    form.destroy(new DomainError('INVALID_UPLOAD'))
  })
  // A form that ends before its first part is finished although its source is not, and is never
  // closed.
  const parsed = Promise.race([pipeline(bounded(), form, { signal }), once(form, 'finish')]).then(
    () => {},
    () => {
      throw failure ?? new DomainError('INVALID_UPLOAD')
    },
  )
  return new Promise((resolve, reject) => {
    form.on('file', (field, file, name) => {
      // What the form breaks off with is emitted on the file, whoever listens, and does not end it.
      file.on('error', (error) => file.destroyed || file.destroy(error))
      if (field !== FILE_FIELD || isFound) {
        file.resume()
        return
      }
      isFound = true
      // Nothing else ends it when its source breaks off.
      parsed.catch((error) => file.destroy(error))
      resolve({ name: name ?? '', content: contentOf(file, parsed) })
    })
    parsed.then(() => reject(new DomainError('INVALID_UPLOAD')), reject)
  })
}

function openForm(contentType: string) {
  try {
    // As a file no field is held in memory.
    return new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: () => true,
      limits: { parts: MAX_PARTS },
    })
  } catch {
    throw new DomainError('INVALID_UPLOAD')
  }
}

/** A file is whole only if the form is. */
async function* contentOf(
  file: Readable,
  parsed: Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* file
  } catch {
    await parsed
    throw new DomainError('INVALID_UPLOAD')
  }
  await parsed
}
