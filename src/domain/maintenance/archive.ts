/**
 * The form of a backup, a tar archive: `about.json` first, then the files of the repositories and
 * the attachments, then the database, and `complete.json` at the end, without which it is cut off.
 */
export const BACKUP_FORMAT = 1

export const ABOUT_ENTRY = 'about.json'
export const REPOSITORIES_ENTRY = 'repositories/'
export const ATTACHMENTS_ENTRY = 'attachments/'
export const DATABASE_ENTRY = 'branchline.db'
export const COMPLETE_ENTRY = 'complete.json'

/** The first entry. */
export interface About {
  readonly format: number
  /** Of the program that made it. */
  readonly version: string
  /** Of the database. */
  readonly schema: number
  /** When it was begun, Unix milliseconds. */
  readonly timeMs: number
}
