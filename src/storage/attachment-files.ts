import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * Files that people attach to what they write. A file is never changed, and belongs to nobody until a row names it: what a crash
 * leaves of one that was being written is found by `doctor`, and is never served.
 *
 *     attachments/<two digits>/<repository>/<uuid>
 */
export interface AttachmentFiles {
  /** Absolute path. */
  readonly folder: string
}

/** Folders by the last two hexadecimal digits of the repository's id, so that none of them gets huge. */
const SHARDS = 256

/** A file that was stored. */
export interface AttachmentFile {
  readonly uuid: string
  readonly bytes: number
}

/** A part of a file: first and last byte, both of them in it. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}

/** More came than may be stored. */
export class AttachmentTooLargeError extends Error {
  constructor() {
    super('the attachment is too large')
    this.name = 'AttachmentTooLargeError'
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
 * Stores what comes, holding no more of it in memory than a chunk. It is on disk when this resolves, and gone when this rejects.
 *
 * @throws AttachmentTooLargeError, and whatever the source throws.
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
    await pipeline(source, measure, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }))
    await syncFolders(folder, parent)
  } catch (error) {
    await rm(path, { force: true })
    throw error
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
 * The content of a file, or a part of it, read as it is asked for.
 *
 * @throws when the file is gone, before the first chunk.
 */
export async function* readAttachment(
  { folder }: AttachmentFiles,
  repositoryId: number,
  uuid: string,
  range?: ByteRange,
): AsyncGenerator<Buffer, void, undefined> {
  yield* createReadStream(
    join(folder, attachmentPath(repositoryId, uuid)),
    range && { start: range.first, end: range.last },
  )
}

/** Size of a file; undefined when there is none. */
export async function attachmentBytes(
  { folder }: AttachmentFiles,
  repositoryId: number,
  uuid: string,
): Promise<number | undefined> {
  return unlessMissing(stat(join(folder, attachmentPath(repositoryId, uuid))).then(({ size }) => size))
}

/** Removes a file; one that is gone is no error. */
export async function removeAttachment({ folder }: AttachmentFiles, repositoryId: number, uuid: string): Promise<void> {
  await rm(join(folder, attachmentPath(repositoryId, uuid)), { force: true })
}

/** Removes all files of a repository. */
export async function removeAttachmentsOf({ folder }: AttachmentFiles, repositoryId: number): Promise<void> {
  await rm(join(folder, repositoryFolder(repositoryId)), { recursive: true, force: true })
}

/** All files that there are, whether rows name them or not; in no order. */
export async function* storedAttachments({
  folder,
}: AttachmentFiles): AsyncGenerator<{ readonly repositoryId: number; readonly uuid: string }, void, undefined> {
  for await (const shard of namesIn(folder)) {
    for await (const repository of namesIn(join(folder, shard))) {
      for await (const uuid of namesIn(join(folder, shard, repository)))
        yield { repositoryId: Number(repository), uuid }
    }
  }
}

async function* namesIn(folder: string): AsyncGenerator<string, void, undefined> {
  const entries = await unlessMissing(opendir(folder))
  if (!entries) return
  for await (const { name } of entries) yield name
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
