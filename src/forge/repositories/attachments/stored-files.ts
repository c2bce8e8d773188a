import { randomUUID } from 'node:crypto'
import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { type ObjectStore, PlaceGoneError } from '../../../platform/objects/object-store.ts'
import type { SignedIn } from '../../core/access.ts'
import { type ByteRange, readRange } from '../../core/byte-ranges.ts'
import { nowSeconds } from '../../core/core.ts'
import type { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import { quotaOfRepository } from '../quotas/quota-checks.ts'
import { attachmentKey } from './attachment-files.ts'
import type { ContentStore } from './schema.ts'
import { queueStorageDeletion } from './storage-deletions.rows.ts'
import { cancelDeletion } from './storage-deletions.ts'

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
  readonly caller: SignedIn
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
  const uuid = randomUUID()
  const key = attachmentKey(repositoryId, uuid)
  const limited = withinLimit(content, limit, refuse)
  const bytes = await store.put(key, limited, limit).catch((error: unknown) => {
    throw error instanceof PlaceGoneError ? gone() : error
  })
  try {
    const file = { uuid, bytes, store: store.name }
    return await insertRow(file, async (tx) => quota?.check(tx, bytes))
  } catch (error) {
    await discardFile(app, store, key)
    throw error
  }
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

/** Deletes a file without a row, now or later. */
async function discardFile({ db, clock }: ReposApp, store: ObjectStore, key: string) {
  try {
    await store.delete(key)
  } catch {
    const deletion = { store: store.name, object_key: key, due_time: nowSeconds(clock) }
    await transaction(db, (tx) => queueStorageDeletion(tx, deletion))
  }
}

/**
 * Copies files of a repository for another one too. Files that the other one has stay.
 *
 * @throws SERVER_BUSY
 */
export async function shareFiles(
  app: ReposApp,
  tx: Tx,
  [from, to]: readonly [repositoryId: number, otherId: number],
  files: readonly Pick<StoredFile, 'uuid' | 'store'>[],
): Promise<void> {
  for (const { uuid, store } of files) {
    const key = attachmentKey(to, uuid)
    // The files may have been there before, and their deletion may be due.
    await cancelDeletion(app, tx, { store, object_key: key })
    await app.objects.of(store).copy(attachmentKey(from, uuid), key)
  }
}

/** What a client wants of a file. */
export interface DownloadRequest {
  /** A `Range` header. Undefined for the whole file. */
  readonly rangeText: string | undefined
  /** Whether to count the download. */
  readonly isCounted: boolean
}

/** The whole or a part of a file. */
export interface Download {
  readonly file: StoredFile
  /** Undefined for the whole file. */
  readonly range: ByteRange | undefined
  /** The content. Its file stays open until this is read to its end or stopped. */
  readonly chunks: AsyncIterable<Buffer>
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
  { rangeText, isCounted }: DownloadRequest,
  count: () => Promise<void>,
  gone: () => DomainError,
): Promise<Download> {
  const range = rangeText === undefined ? undefined : readRange(rangeText, file.bytes)
  // A client that continues an interrupted download was counted before.
  if (isCounted && (range === undefined || range.first === 0)) await count()
  const key = attachmentKey(file.repository_id, file.uuid)
  const opened = await app.objects.of(file.store).get(key, range)
  if (!opened) throw gone()
  return { file, range, chunks: opened.content }
}
