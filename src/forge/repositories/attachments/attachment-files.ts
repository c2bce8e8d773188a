import { randomUUID } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { type FileHandle, link, mkdir, open, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hasCode } from '../../../platform/git/core/system-errors.ts'

/**
 * Files that users upload, such as release assets. A file never changes. A file without a row is
 * never served; `doctor` finds such files, which a crash can leave behind.
 *
 *     attachments/<two digits>/<repository>/<uuid>
 */
export interface AttachmentFiles {
  /** Absolute path. */
  readonly folder: string
}

/**
 * The number of folders, named by the last two hexadecimal digits of the repository id, so that no
 * folder becomes too large.
 */
const SHARDS = 256

/** The number of retries of a removal whose folder is not empty. */
const MAX_RETRIES = 3

/** A stored file. */
export interface AttachmentFile {
  readonly uuid: string
  readonly bytes: number
}

/** Thrown for a file above the size limit. */
export class AttachmentTooLargeError extends Error {
  constructor() {
    super('the attachment is too large')
    this.name = 'AttachmentTooLargeError'
  }
}

/** Thrown if the files of the repository are removed during the upload. */
export class AttachmentGoneError extends Error {
  constructor() {
    super('the attachment is gone')
    this.name = 'AttachmentGoneError'
  }
}

/** Returns the path of a file, relative to the folder. */
export function attachmentPath(repositoryId: number, uuid: string): string {
  return join(repositoryFolder(repositoryId), uuid)
}

function repositoryFolder(repositoryId: number): string {
  return join((repositoryId % SHARDS).toString(16).padStart(2, '0'), String(repositoryId))
}

/**
 * Stores a stream as a file. The file is on disk when the promise resolves, and removed when it
 * rejects.
 *
 * @throws AttachmentTooLargeError, AttachmentGoneError, and whatever the source throws.
 */
export async function writeAttachment(
  { folder }: AttachmentFiles,
  repositoryId: number,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<AttachmentFile> {
  const uuid = randomUUID()
  const parent = join(folder, repositoryFolder(repositoryId))
  const path = join(parent, uuid)
  await mkdir(parent, { recursive: true, mode: 0o700 })
  let bytes = 0
  const measure = new Transform({
    transform(chunk: Uint8Array, _, done) {
      bytes += chunk.length
      if (bytes > maxBytes) done(new AttachmentTooLargeError())
      else done(null, chunk)
    },
  })
  // Opened before anything can fail: a stream that opens the file itself may create the file after
  // its removal.
  const file = await openNew(path)
  try {
    await pipeline(source, measure, file.createWriteStream({ flush: true }))
    await syncFolders(folder, parent)
  } catch (error) {
    await rm(path, { force: true })
    throw isMissing(error) ? new AttachmentGoneError() : error
  }
  return { uuid, bytes }
}

async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    throw isMissing(error) ? new AttachmentGoneError() : error
  }
}

/** Syncs folders, so that the names of their files survive a power failure. */
async function syncFolders(...folders: string[]): Promise<void> {
  const [top = '', leaf = ''] = folders
  for (const path of [leaf, join(leaf, '..'), top]) {
    const handle = await open(path, 'r')
    await handle.sync().finally(() => handle.close())
  }
}

/**
 * Opens a file for reading; undefined if it does not exist. The caller closes it. The content stays
 * readable even if the file is removed meanwhile.
 */
export function openAttachment(
  { folder }: AttachmentFiles,
  repositoryId: number,
  uuid: string,
): Promise<FileHandle | undefined> {
  return unlessMissing(open(join(folder, attachmentPath(repositoryId, uuid))))
}

/** Returns the size of a file; undefined if it does not exist. */
export async function attachmentBytes(
  { folder }: AttachmentFiles,
  repositoryId: number,
  uuid: string,
): Promise<number | undefined> {
  return unlessMissing(
    stat(join(folder, attachmentPath(repositoryId, uuid))).then(({ size }) => size),
  )
}

/** Removes a file if it exists. */
export async function removeAttachment(
  { folder }: AttachmentFiles,
  repositoryId: number,
  uuid: string,
): Promise<void> {
  await rm(join(folder, attachmentPath(repositoryId, uuid)), { force: true })
}

/**
 * Gives files of a repository to another one too, under the same names. Names that the other one has
 * stay.
 */
export async function shareAttachments(
  { folder }: AttachmentFiles,
  [from, to]: readonly [repositoryId: number, otherId: number],
  uuids: readonly string[],
): Promise<void> {
  const parent = join(folder, repositoryFolder(to))
  await mkdir(parent, { recursive: true, mode: 0o700 })
  for (const uuid of uuids)
    await link(join(folder, attachmentPath(from, uuid)), join(parent, uuid)).catch((error) => {
      if (!hasCode(error, 'EEXIST')) throw error
    })
  await syncFolders(folder, parent)
}

/** Removes all files of a repository. */
export async function removeAttachmentsOf(
  { folder }: AttachmentFiles,
  repositoryId: number,
): Promise<void> {
  // A concurrent upload may add a file to the folder.
  await rm(join(folder, repositoryFolder(repositoryId)), {
    recursive: true,
    force: true,
    maxRetries: MAX_RETRIES,
  })
}

/** Yields all files, with or without a row, in no order. Other files in the folders are skipped. */
export async function* storedAttachments({
  folder,
}: AttachmentFiles): AsyncGenerator<
  { readonly repositoryId: number; readonly uuid: string },
  void,
  undefined
> {
  for await (const shard of entriesOf(folder)) {
    if (!shard.isDirectory()) continue
    for await (const repository of entriesOf(join(folder, shard.name))) {
      if (!repository.isDirectory() || !REPOSITORY.test(repository.name)) continue
      for await (const { name } of entriesOf(join(folder, shard.name, repository.name)))
        yield { repositoryId: Number(repository.name), uuid: name }
    }
  }
}

/** The form of the names of repository folders. */
const REPOSITORY = /^[1-9]\d{0,15}$/

async function* entriesOf(folder: string): AsyncGenerator<Dirent, void, undefined> {
  const entries = await unlessMissing(opendir(folder))
  if (entries) yield* entries
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
