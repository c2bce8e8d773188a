import { createWriteStream } from 'node:fs'
import { link, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { type Extract, extract } from 'tar-stream'
import { EntriesDigest, type EntryHead } from './archive.ts'

/** The reason why an archive cannot be restored: a sentence for the operator. */
export class RestoreError extends Error {
  override readonly name = 'RestoreError'
}

type TarEntry = Extract extends AsyncIterable<infer Source> ? Source : never

/** An entry of an archive, which must be read before the next one. */
export interface ArchiveEntry {
  readonly head: EntryHead
  /** The digest of the entries before this one. */
  readonly digestBefore: string
  /** @throws RestoreError when the content is longer. */
  content(maxBytes: number): Promise<Buffer>
  /** Writes the content into a new file, and the file to the disk. */
  writeTo(path: string): Promise<void>
  /** Passes over an entry without a content, such as a folder. */
  skip(): Promise<void>
}

/**
 * Yields the entries of an archive.
 *
 * @throws RestoreError when the input is no archive.
 */
export async function* archiveEntries(input: Readable): AsyncGenerator<ArchiveEntry, void> {
  const archive = extract()
  const read = pipeline(input, archive)
  // A failure also fails the loop below.
  read.catch(() => {})
  const digest = new EntriesDigest()
  try {
    for await (const entry of archive) yield new DigestedEntry(entry, digest, read)
    await read
  } catch (error) {
    throw unreadable(error)
  }
}

/** Returns the error for an archive that cannot be read. Failures of the system remain as they are. */
function unreadable(error: unknown): unknown {
  if (error instanceof RestoreError || (error instanceof Error && 'syscall' in error)) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new RestoreError(`the archive cannot be read: ${reason}`, { cause: error })
}

class DigestedEntry implements ArchiveEntry {
  readonly #entry: TarEntry
  readonly #digest: EntriesDigest
  /** Ends with the archive. */
  readonly #read: Promise<void>

  constructor(entry: TarEntry, digest: EntriesDigest, read: Promise<void>) {
    this.#entry = entry
    this.#digest = digest
    this.#read = read
  }

  get head(): EntryHead {
    return this.#entry.header
  }

  get digestBefore(): string {
    return this.#digest.value
  }

  async content(maxBytes: number): Promise<Buffer> {
    if ((this.#entry.header.size ?? 0) > maxBytes)
      throw new RestoreError('this is not a backup of Branchline')
    this.#digest.begin(this.head)
    const content = await this.#readBy(buffer)
    this.#digest.add(content)
    this.#digest.end(content.length)
    return content
  }

  async writeTo(path: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const digest = this.#digest
    digest.begin(this.head)
    let bytes = 0
    const digested = new Transform({
      transform(chunk: Buffer, _, done) {
        digest.add(chunk)
        bytes += chunk.length
        done(null, chunk)
      },
    })
    const options = { flags: 'wx', mode: 0o600, flush: true }
    await this.#readBy((entry) => pipeline(entry, digested, createWriteStream(path, options)))
    digest.end(bytes)
  }

  async skip(): Promise<void> {
    await this.content(0)
  }

  /**
   * Reads the content. An archive that ends too early may have ended the entry already. Node would wait
   * for ever for the end of such an entry, which is no stream of Node.
   */
  async #readBy<T>(work: (entry: TarEntry) => Promise<T>): Promise<T> {
    try {
      if (!this.#entry.destroyed) return await work(this.#entry)
      await this.#read
      throw new Error('an entry ends too early')
    } catch (error) {
      throw unreadable(error)
    }
  }
}

/** Creates a folder or a hard link of an archive, whose entry has no content. */
export async function makeEntry(type: 'directory' | 'link', path: string, target: string) {
  await mkdir(type === 'link' ? dirname(path) : path, { recursive: true, mode: 0o700 })
  if (type === 'link') await link(target, path)
}
