import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import type { HttpBody } from '#gen/google/api/httpbody_pb.ts'
import type { DomainError } from '../errors.ts'

/** A message of an upload: each has a part of the file or of the form. */
interface UploadRequest {
  readonly attachment?: HttpBody | undefined
}

/** The limit of a kind of uploads, and the errors of those that break a rule. */
export interface UploadRules {
  /** Maximum size of the file. */
  readonly maxBytes: number
  readonly tooLarge: () => DomainError
  /** The form has no file, or cannot be read. */
  readonly noFile: () => DomainError
  /** Whether raw content without bytes is a file, or a request without a file. */
  readonly allowsEmpty: boolean
}

/** A file that is being uploaded. */
export interface UploadedFile {
  /** The name that the client gives the file; empty without one. */
  readonly name: string
  readonly content: AsyncIterable<Uint8Array>
}

/** The form field with the file. */
const FILE_FIELD = 'attachment'

/** The maximum size of a form without the file: boundaries, and fields that are ignored. */
const MAX_FORM_BYTES = 1024 * 1024

/** Many more than any page sends. A part costs as much as some thousand bytes of a file. */
const MAX_PARTS = 100

/**
 * Handles an upload. The first message identifies the target, and the file is read only after the
 * target was checked.
 *
 * @param handle receives the first message and a function that starts reading the file, which
 *   rejects with the errors of the rules.
 */
export async function readUpload<R extends UploadRequest, T>(
  requests: AsyncIterable<R>,
  rules: UploadRules,
  handle: (first: R, file: () => Promise<UploadedFile>) => Promise<T>,
): Promise<T> {
  const iterator = requests[Symbol.asyncIterator]()
  const ended = new AbortController()
  try {
    const { done, value: first } = await iterator.next()
    if (done) throw rules.noFile()
    const chunks = chunksOf(first, iterator)
    const contentType = first.attachment?.contentType ?? ''
    const isForm = /^multipart\/form-data\b/i.test(contentType)
    return await handle(first, async () =>
      isForm
        ? readForm(contentType, chunks, rules, ended.signal)
        : { name: '', content: rules.allowsEmpty ? chunks : notEmpty(chunks, rules.noFile) },
    )
  } finally {
    ended.abort()
    // Not awaited, because a client that has stopped sending would delay the response.
    iterator.return?.().catch(() => {})
  }
}

async function* chunksOf(
  first: UploadRequest,
  rest: AsyncIterator<UploadRequest>,
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

async function* notEmpty(
  content: AsyncIterable<Uint8Array>,
  noFile: UploadRules['noFile'],
): AsyncGenerator<Uint8Array, void, undefined> {
  let isEmpty = true
  for await (const chunk of content) {
    isEmpty = false
    yield chunk
  }
  if (isEmpty) throw noFile()
}

/** Returns the file of a form (RFC 7578). The form is read at the pace of its file. */
async function readForm(
  contentType: string,
  source: AsyncIterable<Uint8Array>,
  { maxBytes, tooLarge, noFile }: UploadRules,
  signal: AbortSignal,
): Promise<UploadedFile> {
  const form = openForm(contentType, noFile)
  let failure: unknown
  let isFound = false
  async function* bounded() {
    let bytes = 0
    try {
      for await (const chunk of source) {
        bytes += chunk.length
        if (bytes > maxBytes + MAX_FORM_BYTES) throw tooLarge()
        yield chunk
      }
    } catch (error) {
      failure = error
      throw error
    }
  }
  form.on('partsLimit', () => {
    form.destroy(noFile())
  })
  // The parser never closes a form that ends within its first part.
  const parsed = Promise.race([pipeline(bounded(), form, { signal }), once(form, 'finish')]).then(
    () => {},
    () => {
      throw failure ?? noFile()
    },
  )
  return new Promise((resolve, reject) => {
    form.on('file', (field, file, name) => {
      // The parser emits an error of the form on the file, but does not end the file.
      file.on('error', (error) => file.destroyed || file.destroy(error))
      if (field !== FILE_FIELD || isFound) {
        file.resume()
        return
      }
      isFound = true
      // Otherwise an interrupted request would not end the file.
      parsed.catch((error) => file.destroy(error))
      resolve({ name: name ?? '', content: contentOf(file, parsed, noFile) })
    })
    parsed.then(() => reject(noFile()), reject)
  })
}

function openForm(contentType: string, noFile: UploadRules['noFile']) {
  try {
    // As a file, a field is not buffered in memory.
    return new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: () => true,
      limits: { parts: MAX_PARTS },
    })
  } catch {
    throw noFile()
  }
}

/** A file is complete only if its form is. */
async function* contentOf(
  file: Readable,
  parsed: Promise<void>,
  noFile: UploadRules['noFile'],
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* file
  } catch {
    await parsed
    throw noFile()
  }
  await parsed
}
