import { isPostgres } from '../dialects/dialects.ts'
import type { Db } from '../schema.ts'
import { loadPostgres, readPostgres } from './postgres-rows.ts'
import { RowSum, type RowSummary } from './row-text.ts'
import type { RowLoader, RowReader, RowTable } from './rows.ts'
import { loadSqlite, readSqlite } from './sqlite-rows.ts'

/** Reads all rows of a database as they are at one moment. Others read and write meanwhile. */
export function readRows<T>(db: Db, work: (reader: RowReader) => Promise<T>): Promise<T> {
  return isPostgres(db) ? readPostgres(db, work) : readSqlite(db, work)
}

/**
 * Replaces all rows of a database that nobody else uses.
 *
 * @throws RowsRefusedError
 */
export function loadRows<T>(db: Db, work: (loader: RowLoader) => Promise<T>): Promise<T> {
  return isPostgres(db) ? loadPostgres(db, work) : loadSqlite(db, work)
}

/**
 * Summarizes the rows of a table as they are in the database.
 *
 * @param onRows called with the number of rows of each group.
 */
export async function summarize(
  reader: Pick<RowReader, 'rows'>,
  table: RowTable,
  onRows: (count: number) => void,
): Promise<RowSummary> {
  const sum = new RowSum()
  for await (const group of reader.rows(table)) {
    for (const row of group) sum.add(row)
    onRows(group.length)
  }
  return sum.summary
}
