import { createHash, type Hash } from 'node:crypto'
import type { RowSummary } from '../../platform/database/row-copy/row-text.ts'
import type { LastIds } from '../../platform/database/row-copy/rows.ts'

/**
 * The format of a backup: a tar archive with `about.json`, the rows, the files of the repositories,
 * the attachments, and `complete.json`, in this order. An archive without `complete.json` is
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
  /** The digest of all entries before this one. */
  readonly digest: string
}

/** The head of an entry. */
export interface EntryHead {
  readonly name: string
  readonly type?: string | null
  readonly linkname?: string | null
}

/** A digest of the names and contents of the entries of an archive, in order. */
export class EntriesDigest {
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
