import { sql } from 'kysely'
import { isPostgres } from './dialects/dialects.ts'
import { canCheckIndexes, postgresProblems } from './postgres-checks.ts'
import type { Db, Tx } from './schema.ts'

/**
 * Returns the problems of the database itself, one sentence each. With SQLite: of the file, which is
 * read as a whole, and of its foreign keys.
 */
export async function databaseProblems(db: Db): Promise<string[]> {
  if (isPostgres(db)) return postgresProblems(db)
  const { rows: integrity } = await sql<{
    integrity_check: string
  }>`pragma integrity_check`.execute(db)
  const { rows: references } = await sql<{ table: string; rowid: number; parent: string }>`
    pragma foreign_key_check`.execute(db)
  return [
    ...integrity.map((row) => row.integrity_check).filter((text) => text !== 'ok'),
    ...references.map(
      ({ table, rowid, parent }) =>
        `row ${rowid} of ${table} refers to a row of ${parent} that is missing`,
    ),
  ]
}

/** Returns what is left out of the check of a database; undefined for nothing. */
export async function uncheckedParts(db: Db): Promise<string | undefined> {
  if (!isPostgres(db) || (await canCheckIndexes(db))) return undefined
  return 'the indexes of PostgreSQL are not compared with the rows: that needs its extension amcheck'
}

/** Returns the size of the database in bytes. With SQLite: of the file, without its log. */
export async function databaseBytes(db: Db): Promise<number> {
  const { rows } = await (isPostgres(db)
    ? sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`
    : sql<{ bytes: number }>`
          select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`
  ).execute(db)
  return Number(rows[0]?.bytes ?? 0)
}

/** Returns the ids of all repositories, in ascending order. */
export async function allRepositoryIds(db: Db): Promise<number[]> {
  const rows = await db.selectFrom('repositories').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/**
 * Records a pending update for every repository, so that its refs, including those of pull
 * requests, are read from Git again.
 */
export async function markAllRepositoriesPending(tx: Tx): Promise<void> {
  await tx
    .insertInto('pending_ref_updates')
    .columns(['repository_id'])
    .expression((eb) => eb.selectFrom('repositories').select('id'))
    .execute()
  await tx.updateTable('pull_requests').set({ head_ref_commit: null }).execute()
}
