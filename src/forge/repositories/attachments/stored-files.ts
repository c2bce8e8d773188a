import { type ByteRange, readRange } from '../../core/byte-ranges.ts'
import type { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import {
  AttachmentGoneError,
  AttachmentTooLargeError,
  openAttachment,
  removeAttachment,
  writeAttachment,
} from './attachment-files.ts'

/**
 * What release assets and attachments of issues do with files. An upload writes the file before its
 * row, and a deletion deletes the row before its file. So a row always has its file, and `doctor`
 * removes files without a row.
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
}

/** The limit of a file, and the errors of a refused one. */
export interface FileRules {
  readonly maxBytes: number
  readonly tooLarge: () => DomainError
  /** The repository was deleted during the upload, and its folder with it. */
  readonly gone: () => DomainError
}

/**
 * Stores a file of a repository while it is uploaded, and then its row. Without a row, nothing of the
 * file remains.
 *
 * @param insertRow stores the row.
 */
export async function storeFile<T>(
  app: ReposApp,
  repositoryId: number,
  content: AsyncIterable<Uint8Array>,
  { maxBytes, tooLarge, gone }: FileRules,
  insertRow: (file: { readonly uuid: string; readonly bytes: number }) => Promise<T>,
): Promise<T> {
  const file = await writeAttachment(app.attachments, repositoryId, content, maxBytes).catch(
    (error: unknown) => {
      if (error instanceof AttachmentTooLargeError) throw tooLarge()
      if (error instanceof AttachmentGoneError) throw gone()
      throw error
    },
  )
  try {
    return await insertRow(file)
  } catch (error) {
    await removeAttachment(app.attachments, repositoryId, file.uuid)
    throw error
  }
}

/** Removes files in the background, since no row refers to them any more. */
export function removeFiles(app: ReposApp, repositoryId: number, uuids: readonly string[]): void {
  if (uuids.length === 0) return
  app.background.run('remove attachments', async () => {
    for (const uuid of uuids) await removeAttachment(app.attachments, repositoryId, uuid)
  })
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
  const opened = await openAttachment(app.attachments, file.repository_id, file.uuid)
  if (!opened) throw gone()
  const chunks = opened.createReadStream(range && { start: range.first, end: range.last })
  return { file, range, chunks }
}
