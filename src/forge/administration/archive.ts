import { createHash, type Hash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { link, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Readable, Transform, type Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { type Extract, extract, type Header, type Pack, pack } from 'tar-stream'
import type { RowSummary } from '../../platform/database/row-copy/row-text.ts'
import type { LastIds } from '../../platform/database/row-copy/rows.ts'

/**
 * The format of a backup: a tar archive with `about.json`, the rows, the files of the repositories,
 * the attachments or their list, the host keys of SSH, and `complete.json`, in this order. An archive without `complete.json` is
 * truncated.
 */
export const BACKUP_FORMAT = 2

export const ABOUT_ENTRY = 'about.json'
/**
 * `rows/<table>.<number>.jsonl`: a line with the names of the columns, and a line for each row.
 */
export const ROWS_ENTRY = /^rows\/(?<table>[a-z][a-z0-9_]*)\.\d+\.jsonl$/
export const REPOSITORIES_ENTRY = 'repositories/'
export const ATTACHMENTS_ENTRY = 'attachments/'
/**
 * `objects/<number>.jsonl`: a line with the key, the size and the store of each attachment, in an archive
 * without them.
 */
export const OBJECTS_ENTRY = /^objects\/\d+\.jsonl$/
/** The host keys of SSH, in an instance that has served SSH. */
export const HOST_KEYS_ENTRY = 'ssh/'
export const COMPLETE_ENTRY = 'complete.json'

/** The content of `about.json`. */
export interface About {
  readonly format: number
  /** The version of the program that wrote the backup. */
  readonly version: string
  /** The version of the database schema. */
  readonly schema: number
  /** The start of the backup, in Unix milliseconds. */
  readonly timeMs: number
  /** Set in an archive that has the list of the attachments only. */
  readonly isWithoutObjects?: boolean
}

/** A table in the archive. */
export interface ArchivedTable extends RowSummary {
  readonly columns: readonly string[]
}

/** The content of `complete.json`. */
export interface Complete {
  readonly tables: Readonly<Record<string, ArchivedTable>>
  readonly lastIds: LastIds
  /**
   * Repositories and release assets that were deleted after the rows were read. Their rows are in
   * the archive, and are deleted with all that belongs to them when the archive is restored.
   */
  readonly deletedRepositories: readonly number[]
  readonly deletedAssets: readonly number[]
  /** The same for attachments of issues. Older backups do not have it. */
  readonly deletedIssueAttachments?: readonly number[]
  /** The digest of all entries before this one. */
  readonly digest: string
}

/** The head of an entry. */
interface EntryHead {
  readonly name: string
  readonly type?: string | null
  readonly linkname?: string | null
}

/** A digest of the names and contents of the entries of an archive, in order. */
class EntriesDigest {
  readonly #hash: Hash = createHash('sha256')

  begin({ name, type, linkname }: EntryHead): void {
    // Names are without U+0000. tar-stream leaves the slash at the end of a folder out.
    this.#hash.update([name.replace(/\/$/, ''), type ?? 'file', linkname ?? '', ''].join('\0'))
  }

  /** Adds a part of the content. */
  add(chunk: Buffer | string): void {
    this.#hash.update(chunk)
  }

  /** Ends the content of an entry. */
  end(bytes: number): void {
    this.#hash.update(`\0${bytes}\0`)
  }

  /** In hexadecimal. */
  get value(): string {
    return this.#hash.copy().digest('hex')
  }
}

/** How far a backup or a restore has come. */
export interface Progress {
  rows: number
  /** Rows that a restore has read back. */
  checkedRows: number
  repositories: number
  files: number
  attachments: number
}

/** The owner of the files is the user that restores them. */
const FILE = { mode: 0o600, uid: 0, gid: 0 } as const

/** Writes the entries of an archive into a stream. */
export class ArchiveWriter {
  readonly #archive: Pack = pack()
  readonly #digest = new EntriesDigest()
  readonly #written: Promise<void>

  /** @param output is ended after the archive. */
  constructor(output: Writable) {
    this.#written = pipeline(this.#archive, output)
    // Awaited at the end. A failure of the output also fails the entries.
    this.#written.catch(() => {})
  }

  /** The digest of the entries so far. */
  get digest(): string {
    return this.#digest.value
  }

  /** Adds an entry whose content is in memory. */
  addContent(name: string, content: string | Buffer, more: Partial<Header> = {}): Promise<void> {
    const header = { ...FILE, name, ...more }
    this.#digest.begin(header)
    this.#digest.add(content)
    this.#digest.end(Buffer.byteLength(content))
    return new Promise((resolve, reject) => {
      this.#archive.entry(header, content, (error) => (error ? reject(error) : resolve()))
    })
  }

  /** Adds an entry whose content comes from a stream. */
  async addFile(header: Pick<Header, 'name' | 'size'>, content: Readable): Promise<void> {
    const digest = this.#digest
    digest.begin(header)
    let bytes = 0
    const digested = new Transform({
      transform(chunk: Buffer, _, done) {
        digest.add(chunk)
        bytes += chunk.length
        done(null, chunk)
      },
    })
    await pipeline(content, digested, this.#archive.entry({ ...FILE, ...header }))
    digest.end(bytes)
  }

  /** Ends the archive. Resolves when the output has all of it. */
  async end(): Promise<void> {
    this.#archive.finalize()
    await this.#written
  }

  /** Ends the output after a failure, and returns the failure that came first. */
  async abort(error: unknown): Promise<unknown> {
    this.#archive.destroy()
    return this.#written.then(
      () => error,
      (failure: unknown) => failure ?? error,
    )
  }
}

/** The reason why an archive cannot be restored: a sentence for the operator. */
export class RestoreError extends Error {
  override readonly name = 'RestoreError'
}

type TarEntry = Extract extends AsyncIterable<infer Source> ? Source : never

/** An entry of an archive, which must be read before the next one. */
export interface ArchiveEntry {
  readonly head: EntryHead
  /** The size of the content. */
  readonly bytes: number
  /** The digest of the entries before this one. */
  readonly digestBefore: string
  /** @throws RestoreError when the content is longer. */
  content(maxBytes: number): Promise<Buffer>
  /** Writes the content into a new file, and the file to the disk. */
  writeTo(path: string): Promise<void>
  /** Reads the content by a function, which must read all of it. */
  readBy(read: (content: AsyncIterable<Buffer>) => Promise<unknown>): Promise<void>
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

  get bytes(): number {
    return this.#entry.header.size ?? 0
  }

  get digestBefore(): string {
    return this.#digest.value
  }

  async content(maxBytes: number): Promise<Buffer> {
    if (this.bytes > maxBytes) throw new RestoreError('this is not a backup of Branchline')
    this.#digest.begin(this.head)
    const content = await this.#readBy(buffer)
    this.#digest.add(content)
    this.#digest.end(content.length)
    return content
  }

  async writeTo(path: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const options = { flags: 'wx', mode: 0o600, flush: true }
    await this.readBy((content) => pipeline(content, createWriteStream(path, options)))
  }

  async readBy(read: (content: AsyncIterable<Buffer>) => Promise<unknown>): Promise<void> {
    const digest = this.#digest
    digest.begin(this.head)
    let bytes = 0
    async function* digested(chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        digest.add(chunk)
        bytes += chunk.length
        yield chunk
      }
    }
    await this.#readBy((entry) => read(digested(entry as AsyncIterable<Buffer>)))
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

/** More than `complete.json` has for a million deleted repositories. */
export const MAX_JSON_BYTES = 16 * 1024 * 1024

/** @throws RestoreError */
export function jsonOf(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString('utf8'))
  } catch {
    throw damaged()
  }
}

/**
 * Returns the content of `complete.json`.
 *
 * @throws RestoreError
 */
export function completeOf(json: unknown): Complete {
  if (!isRecord(json)) throw damaged()
  const { tables, lastIds, deletedRepositories, deletedAssets, digest } = json
  const { deletedIssueAttachments = [] } = json
  const isComplete =
    isRecord(tables) &&
    Object.values(tables).every(isTable) &&
    isRecord(lastIds) &&
    Object.values(lastIds).every(Number.isSafeInteger) &&
    isIds(deletedRepositories) &&
    isIds(deletedAssets) &&
    isIds(deletedIssueAttachments) &&
    typeof digest === 'string'
  if (!isComplete) throw damaged()
  return json as unknown as Complete
}

function damaged(): RestoreError {
  return new RestoreError('the archive is damaged, or not a backup of Branchline')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTable(value: unknown): boolean {
  if (!isRecord(value) || !Array.isArray(value.columns)) return false
  return Number.isSafeInteger(value.rows) && typeof value.sum === 'string'
}

function isIds(value: unknown): boolean {
  return Array.isArray(value) && value.every(Number.isSafeInteger)
}
