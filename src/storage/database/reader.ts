import { type Database, Sqlite } from './sqlite.ts'

/**
 * A second, read-only connection for prepared queries outside of transactions. It sees committed
 * changes only, and never waits for a transaction (https://sqlite.org/wal.html, "Concurrency").
 *
 * The reads of one iteration of the event loop share a snapshot. Otherwise each read would lock and
 * unlock the log, which costs half as much as looking up a row.
 */
export interface Reader {
  /** The connection, inside the snapshot of this iteration. */
  readonly snapshot: Database
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
 */
export function openReader(path: string, busyTimeoutMs: number): Reader {
  const connection = new Sqlite(path, { readonly: true, timeout: busyTimeoutMs })
  const begin = connection.prepare('begin')
  const commit = connection.prepare('commit')
  const refresh = () => {
    if (connection.inTransaction) commit.run()
  }
  return {
    get snapshot() {
      if (!connection.inTransaction) {
        begin.run()
        // The check phase follows all I/O callbacks of this iteration.
        setImmediate(refresh)
      }
      return connection
    },
    refresh,
    close() {
      connection.close()
    },
  }
}
