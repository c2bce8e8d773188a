import { type Database, Sqlite } from './sqlite.ts'

/**
 * A second, read-only connection for prepared queries outside of transactions. It sees committed
 * changes only, and never waits for a transaction (https://sqlite.org/wal.html, "Concurrency").
 *
 * The reads of one iteration of the event loop share a snapshot. Otherwise each read would lock and
 * unlock the log, which costs half as much as looking up a row. Where several processes write, the
 * reads of one callback share a snapshot: a later callback of the iteration can have a call that was
 * sent after another process had answered a write.
 */
export interface Reader {
  /** The connection, inside the snapshot of this iteration. */
  readonly snapshot: Database
  /**
   * A number of the state that the snapshot shows. It is greater after a commit by any connection of
   * any process (https://sqlite.org/pragma.html#pragma_data_version).
   */
  readonly version: number
  /**
   * Ends the snapshot. Called before each statement of the writer, so that the next read sees its
   * changes.
   */
  refresh(): void
  close(): void
}

/**
 * Opens a reader of an existing database file.
 *
 * @param busyTimeoutMs the maximum wait for other processes that lock the database.
 * @param isShared whether other processes write.
 */
export function openReader(path: string, busyTimeoutMs: number, isShared: boolean): Reader {
  const connection = new Sqlite(path, { readonly: true, timeout: busyTimeoutMs })
  const begin = connection.prepare('begin')
  const commit = connection.prepare('commit')
  const readVersion = connection.prepare<[], number>('pragma data_version').pluck()
  let version: number | undefined
  const refresh = () => {
    version = undefined
    if (connection.inTransaction) commit.run()
  }
  const beginOnce = () => {
    if (connection.inTransaction) return
    begin.run()
    // The queue of ticks follows the promises of this callback, and the check phase follows all I/O
    // callbacks of this iteration.
    if (isShared) process.nextTick(refresh)
    else setImmediate(refresh)
  }
  return {
    get snapshot() {
      beginOnce()
      return connection
    },
    get version() {
      if (version === undefined) {
        beginOnce()
        version = readVersion.get() ?? 0
      }
      return version
    },
    refresh,
    close() {
      connection.close()
    },
  }
}
