import { type Database, Sqlite } from './sqlite.ts'

/**
 * A second connection beside the one that writes, for prepared queries outside of transactions. It
 * sees what has been committed and nothing else, and never waits for a transaction to end
 * (https://sqlite.org/wal.html, "Concurrency").
 *
 * The reads of one turn of the event loop share a snapshot. Each read by itself would lock the log
 * and unlock it again, which costs half as much as looking up a row does.
 */
export interface Reader {
  /** The connection, inside the snapshot of this turn. */
  readonly snapshot: Database
  /**
   * Ends the snapshot: before each statement of the writer, so that the next read sees what it did.
   */
  refresh(): void
  close(): void
}

/**
 * Opens a reader of a database file that exists. `busyTimeoutMs` is for other processes that lock
 * the database.
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
        // The check phase comes after all callbacks of this turn's input and output.
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
