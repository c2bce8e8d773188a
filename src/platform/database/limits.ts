/**
 * Returns a statement that SQLite compiles once, whatever its parameters are.
 *
 * SQLite plans for the value of a parameter that is the whole limit, and so compiles the statement
 * again after each binding of it (`sqlite3VdbeSetVarmask` in the source of SQLite 3.53). That takes
 * several times as long as to read a page of rows. SQLite does not look into an expression.
 */
export function withOpaqueLimits(sql: string): string {
  return sql.replaceAll(BARE_LIMIT, 'limit ? + 0')
}

/** A limit as Kysely writes it. */
const BARE_LIMIT = /\blimit \?(?! \+ 0)/g
