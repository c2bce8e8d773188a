import { randomUUID } from 'node:crypto'
import { createWriteStream, type Dirent } from 'node:fs'
import { type FileHandle, mkdir, open, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * Files that people attach to what they write. A file is never changed, and belongs to nobody until
 * a row names it: what a crash leaves of one that was being written is found by `doctor`, and is
 * never served.
 *
 *     attachments/<two digits>/<repository>/<uuid>
 */
export interface AttachmentFiles {
  /** Absolute path. */
  readonly folder: string
}

/**
 * Folders by the last two hexadecimal digits of the repository's id, so that none of them gets
 * huge.
 */
const SHARDS = 256

/** Of a removal that finds a folder to be no longer empty. */
const MAX_RETRIES = 3

/** A file that was stored. */
export interface AttachmentFile {
  readonly uuid: string
  readonly bytes: number
}

/** More came than may be stored. */
export class AttachmentTooLargeError extends Error {
  constructor() {
    super('the attachment is too large')
    this.name = 'AttachmentTooLargeError'
  }
}

/** Its repository's files were removed while it was being written. */
export class AttachmentGoneError extends Error {
  constructor() {
    super('the attachment is gone')
    this.name = 'AttachmentGoneError'
  }
}

/** Path of a file below the folder. */
export function attachmentPath(repositoryId: number, uuid: string): string {
  return join(repositoryFolder(repositoryId), uuid)
}

function repositoryFolder(repositoryId: number): string {
  return join((repositoryId % SHARDS).toString(16).padStart(2, '0'), String(repositoryId))
}

/**
 * Stores what comes, holding no more of it in memory than a chunk. It is on disk when this
 * resolves, and gone when this rejects.
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
  try {
    await pipeline(
      source,
      measure,
      createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }),
    )
    await syncFolders(folder, parent)
  } catch (error) {
    await rm(path, { force: true })
    throw isMissing(error) ? new AttachmentGoneError() : error
  }
  return { uuid, bytes }
}

/** Names of files are lost with the power unless the folders that have them are synced too. */
async function syncFolders(...folders: string[]): Promise<void> {
  const [top = '', leaf = ''] = folders
  for (const path of [leaf, join(leaf, '..'), top]) {
    const handle = await open(path, 'r')
    await handle.sync().finally(() => handle.close())
  }
}

/**
 * A file, open for reading until whoever asked for it closes it, even if it is removed meanwhile;
 * undefined when there is none.
 */
export function openAttachment(
  { folder }: AttachmentFiles,
  repositoryId: number,
  uuid: string,
): Promise<FileHandle | undefined> {
  return unlessMissing(open(join(folder, attachmentPath(repositoryId, uuid))))
}

/** Size of a file; undefined when there is none. */
export async function attachmentBytes(
  { folder }: AttachmentFiles,
  repositoryId: number,
  uuid: string,
): Promise<number | undefined> {
  return unlessMissing(
    stat(join(folder, attachmentPath(repositoryId, uuid))).then(({ size }) => size),
  )
}

/** Removes a file; one that is gone is no error. */
export async function removeAttachment(
  { folder }: AttachmentFiles,
  repositoryId: number,
  uuid: string,
): Promise<void> {
  await rm(join(folder, attachmentPath(repositoryId, uuid)), { force: true })
}

/** Removes all files of a repository. */
export async function removeAttachmentsOf(
  { folder }: AttachmentFiles,
  repositoryId: number,
): Promise<void> {
  // An upload may put another file there meanwhile.
  await rm(join(folder, repositoryFolder(repositoryId)), {
    recursive: true,
    force: true,
    maxRetries: MAX_RETRIES,
  })
}

/**
 * All files that there are, whether rows name them or not; in no order. What somebody else put
 * between the folders is passed over.
 */
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

/** Name of the folder of a repository. */
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
