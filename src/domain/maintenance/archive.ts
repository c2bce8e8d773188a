/**
 * The format of a backup: a tar archive with `about.json`, the files of the repositories, the
 * attachments, the database, and `complete.json`, in this order. An archive without `complete.json`
 * is truncated.
 */
export const BACKUP_FORMAT = 1

export const ABOUT_ENTRY = 'about.json'
export const REPOSITORIES_ENTRY = 'repositories/'
export const ATTACHMENTS_ENTRY = 'attachments/'
export const DATABASE_ENTRY = 'branchline.db'
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
