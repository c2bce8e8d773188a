import pg from 'pg'

/** The database is unreachable, or has ended the connection. The call may be made again. */
export class DatabaseUnavailableError extends Error {
  override readonly name = 'DatabaseUnavailableError'
}

/**
 * The codes of errors that end with a new connection, another server or less load: a connection that
 * failed (08), too many connections (53300), a shutdown, a start and a failover (57P01 to 57P05), a
 * transaction that a stopped process has left open (25P03), a standby that takes no writes (25006),
 * and a statement or a lock that the operator's `statement_timeout` or `lock_timeout` ended (57014,
 * 55P03). See
 * https://www.postgresql.org/docs/15/errcodes-appendix.html.
 */
const TEMPORARY = /^(?:08...|53300|57014|57P0[1-5]|55P03|25P03|25006)$/

/**
 * Throws the failure of a connection or query. A failure that PostgreSQL does not report is one of
 * the connection.
 *
 * @throws DatabaseUnavailableError; any other error as it is.
 */
export function asUnavailable(error: unknown): never {
  if (error instanceof pg.DatabaseError && !TEMPORARY.test(error.code ?? '')) throw error
  throw unavailable(error)
}

/**
 * The codes of errors after which PostgreSQL ends the connection: those of a connection (08), the end
 * of a server or a session (57P01 to 57P05), and a transaction that waited too long (25P03).
 */
const ENDS_CONNECTION = /^(?:08...|57P0[1-5]|25P03)$/

/** Returns whether a failure of a query means that its connection has ended, or is about to end. */
export function isEndOfConnection(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || ENDS_CONNECTION.test(error.code ?? '')
}

/** Returns the error of a database that cannot be used at present. */
export function unavailable(cause: unknown): DatabaseUnavailableError {
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
  return new DatabaseUnavailableError(`the PostgreSQL database is unavailable: ${reason}`, {
    cause,
  })
}
