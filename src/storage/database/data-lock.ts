import { join } from 'node:path'
import { Sqlite } from './sqlite.ts'

/** Another process works on the data folder. */
export class DataFolderBusyError extends Error {
  constructor(folder: string) {
    super(`another branchline works on ${folder}: stop it first`)
    this.name = 'DataFolderBusyError'
  }
}

/** A data folder that is this process's alone. */
export interface DataLock {
  release(): void
}

/** An empty file, which stays: to remove it would let two processes lock two files of one name. */
const LOCK_FILE = 'lock'

/**
 * Takes a data folder for this process alone: for the server, and for commands that cannot work
 * beside one.
 *
 * An empty SQLite database serves as the lock, since Node has no flock(2): the system gives it back
 * when the process ends in whatever way (https://sqlite.org/lockingv3.html).
 *
 * @param folder an existing one.
 * @throws DataFolderBusyError
 */
export function lockDataFolder(folder: string): DataLock {
  const sqlite = new Sqlite(join(folder, LOCK_FILE), { timeout: 0 })
  try {
    sqlite.exec('begin exclusive')
  } catch (error) {
    sqlite.close()
    const isBusy = error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')
    throw isBusy ? new DataFolderBusyError(folder) : error
  }
  return { release: () => sqlite.close() }
}
