import { join } from 'node:path'
import { Sqlite } from './sqlite.ts'

/** Another process uses the data folder. */
export class DataFolderBusyError extends Error {
  constructor(folder: string) {
    super(`another branchline works on ${folder}: stop it first`)
    this.name = 'DataFolderBusyError'
  }
}

/** An exclusive lock of the data of an instance. */
export interface DataLock {
  /** Releases the lock. Returns a promise when this takes time. */
  release(): unknown
}

/**
 * An empty file, which is never removed: after a removal, two processes could lock two files with
 * the same name.
 */
export const LOCK_FILE = 'lock'

/**
 * Locks a data folder for this process: for the server, and for commands that cannot run beside a
 * server.
 *
 * An empty SQLite database serves as the lock, because Node has no flock(2). The operating system
 * releases the lock when the process ends in any way (https://sqlite.org/lockingv3.html).
 *
 * @param folder an existing folder.
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
