import { join } from 'node:path'
import { type Database, isBusy, Sqlite } from './sqlite.ts'

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
 * A file without rows, which is never removed: after a removal, two processes could lock two files
 * with the same name.
 */
export const LOCK_FILE = 'lock'

/**
 * Locks a data folder for this process: for a server that is alone, and for commands that cannot run
 * beside a server. `GroupLock` is for a server of several processes.
 *
 * An SQLite database without tables serves as the lock, because Node has no flock(2). The operating
 * system releases the lock when the process ends in any way (https://sqlite.org/lockingv3.html).
 *
 * @param folder an existing folder.
 * @throws DataFolderBusyError
 */
export function lockDataFolder(folder: string): DataLock {
  const sqlite = takeDataFolder(folder)
  if (!sqlite) throw new DataFolderBusyError(folder)
  return { release: () => sqlite.close() }
}

/** Returns a connection that has locked a data folder; undefined while another process uses it. */
export function takeDataFolder(folder: string): Database | undefined {
  const sqlite = new Sqlite(join(folder, LOCK_FILE), { timeout: 0 })
  try {
    sqlite.exec('begin exclusive')
    return sqlite
  } catch (error) {
    sqlite.close()
    if (isBusy(error)) return undefined
    throw error
  }
}
