import { randomUUID } from 'node:crypto'
import type { Tx } from '../../../platform/database/schema.ts'
import {
  type DownloadAs,
  PlaceGoneError,
  StoreUnavailableError,
} from '../../../platform/objects/object-store.ts'
import type { SignedIn } from '../../core/access.ts'
import { type ByteRange, readRange } from '../../core/byte-ranges.ts'
import type { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import { quotaOfRepository } from '../quotas/quota-checks.ts'
import { attachmentKey } from './attachment-files.ts'
import { withDrafts } from './draft-contents.ts'
import type { ContentStore } from './schema.ts'

/**
 * What release assets and attachments of issues do with files. An upload writes the file before its
 * row, and a deletion deletes the row before its file (`storage-deletions.ts`). So a row always has its
 * file, and `doctor` removes files without a row.
 */

/** A name that is valid for a file wherever it is saved. */
export const FILE_NAME = /^(?!\.{1,2}$)[^/\\\p{Cc}\p{Cs}]+$/u

/** A stored file as rows have it. */
export interface StoredFile {
  readonly id: number
  /** Names the file on disk and in download URLs. */
  readonly uuid: string
  readonly name: string
  /** Size of the file in bytes. */
  readonly bytes: number
  /** The number of downloads that were started. */
  readonly download_count: number
  /** Unix seconds. */
  readonly create_time: number
  readonly store: ContentStore
}

/** The limit of a file, and the errors of a refused one. */
export interface FileRules {
  readonly maxBytes: number
  readonly tooLarge: () => DomainError
  /** The repository was deleted during the upload, and its folder with it. */
  readonly gone: () => DomainError
}

/** A file without a row: its name, its size in bytes, and its store. */
type NewFile = Pick<StoredFile, 'uuid' | 'bytes' | 'store'>

/** Who uploads a file, and for what. */
export interface FileUpload {
  /** Undefined for the server. */
  readonly caller: SignedIn | undefined
  readonly repositoryId: number
  readonly kind: 'issues' | 'releases'
  readonly content: AsyncIterable<Uint8Array>
}

/**
 * Stores a file of a repository while it is uploaded, and then its row. Without a row, nothing of the
 * file remains.
 *
 * @param insertRow stores the row, in a transaction that begins with `checkQuota`.
 * @throws QUOTA_EXCEEDED
 */
export async function storeFile<T>(
  app: ReposApp,
  { caller, repositoryId, kind, content }: FileUpload,
  { maxBytes, tooLarge, gone }: FileRules,
  insertRow: (file: NewFile, checkQuota: (tx: Tx) => Promise<void>) => Promise<T>,
): Promise<T> {
  const quota = await quotaOfRepository(app, caller, repositoryId, kind)
  const left = (await quota?.left()) ?? maxBytes
  const limit = Math.min(left, maxBytes)
  const refuse = async () => {
    if (left < maxBytes) await quota?.check(app.db, left + 1)
    throw tooLarge()
  }
  const store = app.objects.current
  if (store.isAway) throw new StoreUnavailableError('the store of new files is away')
  const uuid = randomUUID()
  const key = attachmentKey(repositoryId, uuid)
  const limited = withinLimit(content, limit, refuse)
  const write = () =>
    store.put(key, limited, limit).catch((error: unknown) => {
      throw error instanceof PlaceGoneError ? gone() : error
    })
  const row = await withDrafts(app, [{ store: store.name, object_key: key }], write, (bytes) =>
    insertRow({ uuid, bytes, store: store.name }, async (tx) => quota?.check(tx, bytes)),
  )
  await quota?.warn()
  return row
}

async function* withinLimit(
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
  refuse: () => Promise<never>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > maxBytes) await refuse()
    yield chunk
  }
}

/**
 * Copies files of a repository for another one, and then moves their rows. Files that the other one has
 * stay.
 *
 * @param moveRows moves the rows, in its transaction, if there are no others than the files.
 * @throws as `withDrafts`
 */
export function shareFiles<T>(
  app: ReposApp,
  [from, to]: readonly [repositoryId: number, otherId: number],
  files: readonly Pick<StoredFile, 'uuid' | 'store'>[],
  moveRows: () => Promise<T>,
): Promise<T> {
  const contents = files.map(({ uuid, store }) => ({ store, object_key: attachmentKey(to, uuid) }))
  const copy = async () => {
    for (const { uuid, store } of files)
      await app.objects.of(store).copy(attachmentKey(from, uuid), attachmentKey(to, uuid))
  }
  return withDrafts(app, contents, copy, moveRows)
}

/** What a client wants of a file. */
export interface DownloadRequest {
  /** A `Range` header. Undefined for the whole file. */
  readonly rangeText: string | undefined
  /** Whether to count the download. */
  readonly isCounted: boolean
  /** The method of a client that follows redirects; undefined for a client that does not. */
  readonly redirectMethod: DownloadAs['method'] | undefined
}

const NOTHING: AsyncIterable<Buffer> = (async function* () {})()

/** The whole or a part of a file. */
export interface Download {
  readonly file: StoredFile
  /** Undefined for the whole file. */
  readonly range: ByteRange | undefined
  /** The content. Its file stays open until this is read to its end or stopped. */
  readonly chunks: AsyncIterable<Buffer>
  /** Set if the client is to get the content from the store itself. Then there are no chunks. */
  readonly redirect?: (as: Omit<DownloadAs, 'method'>) => Promise<string>
}

/**
 * Opens a file for a caller who may download it.
 *
 * @param count counts the download.
 * @param gone returns the error for a file that has just been deleted.
 * @throws RANGE_NOT_SATISFIABLE
 */
export async function openDownload(
  app: ReposApp,
  file: StoredFile & { readonly repository_id: number },
  { rangeText, isCounted, redirectMethod: method }: DownloadRequest,
  count: () => Promise<void>,
  gone: () => DomainError,
): Promise<Download> {
  const range = rangeText === undefined ? undefined : readRange(rangeText, file.bytes)
  // A client that continues an interrupted download was counted before.
  if (isCounted && (range === undefined || range.first === 0)) await count()
  const key = attachmentKey(file.repository_id, file.uuid)
  const { direct } = app.objects.of(file.store)
  if (direct && method)
    return {
      file,
      range: undefined,
      chunks: NOTHING,
      redirect: (as) => direct.downloadUrl(key, { ...as, method }),
    }
  const opened = await app.objects.of(file.store).get(key, range)
  if (!opened) throw gone()
  return { file, range, chunks: opened.content }
}
