import type { Generated } from 'kysely'

/** The data folder that belongs to a PostgreSQL database, which has one row. SQLite has none. */
export interface DataFoldersTable {
  /** The content of the file `postgresql` in the folder. */
  id: string
}

/**
 * Guesses of passwords and passcodes that the servers of a PostgreSQL database count together: the
 * wrong ones, and those that are being checked.
 */
export interface FailedGuessesTable {
  id: Generated<number>
  /** What the guess counts towards: the kind of a log and a key. */
  subject: string
  /** Unix milliseconds. */
  time: number
  /** Unix milliseconds after which the guess no longer counts. */
  expire_time: number
  /** 0 or 1: whether the guess is being checked. */
  is_running: number
}
