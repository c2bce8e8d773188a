import { Kysely, SqliteDialect, sql } from 'kysely'
import { transaction } from './database.ts'
import { isPostgres } from './dialects/dialects.ts'
import type { Db, Schema } from './schema.ts'
import { Sqlite } from './sqlite.ts'

/** The time for which a statement waits for another process. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * Runs work that reads rows as they are at one moment. Others read and write meanwhile, so the work may
 * take seconds and wait for files.
 *
 * @param work must use the given handle, and must not write.
 */
export async function readSnapshot<T>(db: Db, work: (snapshot: Db) => Promise<T>): Promise<T> {
  if (isPostgres(db))
    return db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(work)
  const { rows } = await sql<{ file: string }>`pragma database_list`.execute(db)
  const file = rows[0]?.file
  // A database in memory has one connection, so all others wait.
  if (!file) return transaction(db, work)
  const connection = new Sqlite(file, { readonly: true, timeout: BUSY_TIMEOUT_MS })
  const snapshot = new Kysely<Schema>({ dialect: new SqliteDialect({ database: connection }) })
  try {
    // The first read takes the snapshot (https://sqlite.org/lang_transaction.html).
    connection.exec('begin')
    await sql`select count(*) from sqlite_schema`.execute(snapshot)
    return await work(snapshot)
  } finally {
    await snapshot.destroy()
  }
}
