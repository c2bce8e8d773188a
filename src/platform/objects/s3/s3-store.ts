import { Readable } from 'node:stream'
import {
  DIRECT_SECONDS,
  type DirectTransfers,
  type ListedObject,
  type ObjectRange,
  type ObjectStore,
  type OpenObject,
  StoreUnavailableError,
  type UnfinishedUpload,
  type UnfinishedUploads,
} from '../object-store.ts'
import { encodePath } from './s3-address.ts'
import { listPageOf, textOf, unfinishedUploadsOf } from './s3-answers.ts'
import { bodyOf, type RequestBody, type S3Client, S3RefusalError } from './s3-client.ts'
import { ChunkReader, fillSpool, type Spool } from './spool.ts'

/** An S3 object has at most 10,000 parts; all but the last one have at least 5 MiB. */
const MAX_PARTS = 10_000
const PART_BYTES = 16 * 1024 * 1024

/** Parts that are sent at a time. An upload that is no larger is one request. */
const PARTS_IN_FLIGHT = 4

/** The largest object that one request copies or writes. */
const MAX_REQUEST_BYTES = 5 * 1024 ** 3

/** Keeps uploads in parts in mind, so that those of a server that ended are aborted. */
export interface UploadJournal {
  /** @returns the number of the entry. */
  begin(key: string, uploadId: string): Promise<number>
  end(entry: number): Promise<void>
}

type Upload = Pick<UnfinishedUpload, 'key' | 'uploadId'>

/** Parts of the store. */
interface StoreParts {
  readonly client: S3Client
  /** Folder for the parts of uploads that are being sent. */
  readonly spoolFolder: string
  readonly journal: UploadJournal
  /** Undefined where clients transfer nothing themselves. */
  readonly direct?: { readonly uploads: boolean } | undefined
}

/** Objects in a bucket of an S3 server, below a prefix. Nothing else of the bucket is touched. */
export class S3Store implements ObjectStore {
  readonly name = 's3'
  readonly client: S3Client
  readonly direct: DirectTransfers | undefined
  readonly #parts: StoreParts

  readonly uploads: UnfinishedUploads = {
    list: async () => {
      const { prefix } = this.client.address
      const { text } = await this.client.send({ method: 'GET', query: { uploads: '', prefix } })
      return unfinishedUploadsOf(text)
        .filter(({ key }) => key.startsWith(prefix))
        .map((upload) => ({ ...upload, key: upload.key.slice(prefix.length) }))
    },
    abort: async ({ key, uploadId }) => {
      await this.client.send({ method: 'DELETE', key, query: { uploadId }, accepts: [404] })
    },
  }

  constructor(parts: StoreParts) {
    this.client = parts.client
    this.direct = parts.direct && directTransfers(parts.client, parts.direct.uploads)
    this.#parts = parts
  }

  get isAway(): boolean {
    return this.client.isAway
  }

  async put(key: string, content: AsyncIterable<Uint8Array>, maxBytes: number): Promise<number> {
    this.client.checkAvailable()
    const source = new ChunkReader(content)
    const pieceBytes = Math.max(PART_BYTES, Math.ceil(maxBytes / MAX_PARTS))
    const fill = () =>
      fillSpool(this.#parts.spoolFolder, source, { pieceBytes, maxPieces: PARTS_IN_FLIGHT })
    try {
      const first = await fill()
      if (first.bytes < pieceBytes * PARTS_IN_FLIGHT) {
        await this.#putWhole(key, first.whole).finally(() => first.close())
        return first.bytes
      }
      return await this.#putParts(key, first, fill)
    } finally {
      await source.return()
    }
  }

  async get(key: string, range?: ObjectRange): Promise<OpenObject | undefined> {
    const headers = range && { range: `bytes=${range.first}-${range.last}` }
    // 416: the object is shorter than its row says.
    const answer = await this.client.open({
      method: 'GET',
      key,
      ...(headers && { headers }),
      accepts: [404, 416],
    })
    if (answer.status >= 400) {
      answer.body.resume()
      return undefined
    }
    const whole = answer.headers.get('content-range')?.replace(/^.*\//, '')
    const bytes = Number(whole ?? answer.headers.get('content-length'))
    return { bytes, content: Readable.from(explained(answer.body), { objectMode: false }) }
  }

  async size(key: string): Promise<number | undefined> {
    const { status, headers } = await this.client.send({ method: 'HEAD', key, accepts: [404] })
    return status === 404 ? undefined : Number(headers.get('content-length'))
  }

  async delete(key: string): Promise<void> {
    await this.client.send({ method: 'DELETE', key, accepts: [404] })
  }

  async deleteAll(prefix: string): Promise<void> {
    for await (const { key } of this.list(prefix)) await this.delete(key)
  }

  async copy(from: string, to: string): Promise<void> {
    const bytes = await this.size(from)
    if (bytes === undefined) throw new Error(`there is no object ${from} to copy`)
    if (bytes > MAX_REQUEST_BYTES) {
      const opened = await this.get(from)
      if (opened) await this.put(to, opened.content, bytes)
      return
    }
    const { bucket, prefix } = this.client.address
    const headers = { 'x-amz-copy-source': `/${bucket}/${encodePath(`${prefix}${from}`)}` }
    await this.client.send({ method: 'PUT', key: to, headers })
  }

  async *list(prefix: string): AsyncGenerator<ListedObject, void, undefined> {
    const own = this.client.address.prefix
    for (let token: string | undefined = ''; token !== undefined; ) {
      const query = { 'list-type': '2', 'encoding-type': 'url', prefix: `${own}${prefix}` }
      const { text }: { text: string } = await this.client.send({
        method: 'GET',
        query: token === '' ? query : { ...query, 'continuation-token': token },
      })
      const { objects, next } = listPageOf(text)
      for (const object of objects) yield { ...object, key: object.key.slice(own.length) }
      token = next
    }
  }

  async #putWhole(key: string, body: RequestBody): Promise<void> {
    const checksum = Buffer.from(body.sha256, 'hex').toString('base64')
    const headers = { 'x-amz-checksum-sha256': checksum }
    await this.client.send({ method: 'PUT', key, headers, body })
  }

  async #putParts(key: string, first: Spool, fill: () => Promise<Spool>): Promise<number> {
    const begun = await this.client
      .send({ method: 'POST', key, query: { uploads: '' } })
      .catch(async (error: unknown) => {
        await first.close()
        throw error
      })
    const uploadId = textOf(begun.text, 'UploadId') ?? ''
    const entry = await this.#parts.journal.begin(key, uploadId)
    try {
      const { bytes, tags } = await this.#sendSpools({ key, uploadId }, first, fill)
      await this.#complete({ key, uploadId }, tags, bytes)
      await this.#parts.journal.end(entry)
      return bytes
    } catch (error) {
      // The entry stays where the storage is away, and the upload is aborted later.
      await this.uploads.abort({ key, uploadId }).then(
        () => this.#parts.journal.end(entry),
        () => {},
      )
      throw error
    }
  }

  /** Sends the parts of a spool while the next spool is filled. */
  async #sendSpools(upload: Upload, first: Spool, fill: () => Promise<Spool>) {
    const tags: string[] = []
    let bytes = 0
    for (let spool = first; spool.bytes > 0; ) {
      const sending = this.#sendSpool(upload, spool, tags.length)
      const [sent, filled] = await Promise.allSettled([sending, fill()])
      if (sent.status === 'rejected' || filled.status === 'rejected') {
        if (filled.status === 'fulfilled') await filled.value.close()
        throw sent.status === 'rejected' ? sent.reason : rejected(filled)
      }
      tags.push(...sent.value)
      bytes += spool.bytes
      spool = filled.value
      if (spool.bytes === 0) await spool.close()
    }
    return { bytes, tags }
  }

  async #sendSpool({ key, uploadId }: Upload, spool: Spool, before: number): Promise<string[]> {
    const sending = spool.pieces.map(async (body, index) => {
      const query = { partNumber: String(before + index + 1), uploadId }
      const { headers } = await this.client.send({ method: 'PUT', key, query, body })
      return headers.get('etag') ?? ''
    })
    const results = await Promise.allSettled(sending)
    await spool.close()
    return results.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
  }

  async #complete(
    { key, uploadId }: Upload,
    tags: readonly string[],
    bytes: number,
  ): Promise<void> {
    const parts = tags.map(
      (tag, index) =>
        `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`,
    )
    const xml = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
    try {
      const query = { uploadId }
      await this.client.send({ method: 'POST', key, query, body: bodyOf(xml) })
    } catch (error) {
      // The answer of the try before may have been lost.
      const isUnknown = error instanceof S3RefusalError && error.code === 'NoSuchUpload'
      if (!isUnknown || (await this.size(key)) !== bytes) throw error
    }
  }
}

function directTransfers(client: S3Client, takesUploads: boolean): DirectTransfers {
  return {
    async downloadUrl(key, { method, contentType, disposition }) {
      client.checkAvailable()
      const query = {
        'response-content-type': contentType,
        'response-content-disposition': disposition,
      }
      return (await client.signedUrl({ method, key, query }, DIRECT_SECONDS)).href
    },
    async upload(key, { bytes, sha256 }) {
      if (!takesUploads || bytes > MAX_REQUEST_BYTES) return undefined
      client.checkAvailable()
      const headers = { 'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64') }
      const url = await client.signedUrl({ method: 'PUT', key, headers }, DIRECT_SECONDS)
      return { url: url.href, headers }
    },
  }
}

function rejected(result: PromiseSettledResult<unknown>): unknown {
  return result.status === 'rejected' ? result.reason : undefined
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** A download that breaks off is a fault of the storage. */
async function* explained(body: Readable): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* body
  } catch (cause) {
    throw new StoreUnavailableError('the object storage broke a download off', { cause })
  }
}
