import { sql } from 'kysely'
import type { Db, Tx } from '../schema/schema.ts'

/**
 * Writes the database, as it is at one moment, into a new file. Others go on reading and writing
 * meanwhile.
 *
 * @throws an SqliteError when the file exists or cannot be written.
 */
export async function snapshotDatabase(db: Db, file: string): Promise<void> {
  await sql`vacuum into ${file}`.execute(db)
}

/** What is wrong with the file and its foreign keys, a sentence each; reads all of it. */
export async function databaseProblems(db: Db): Promise<string[]> {
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

/** The ids of all repositories, in ascending order. */
export async function allRepositoryIds(db: Db): Promise<number[]> {
  const rows = await db.selectFrom('repositories').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/**
 * Notes of every repository that its refs have to be read from Git again, those of pull requests
 * among them.
 */
export async function noteAllRepositories(tx: Tx): Promise<void> {
  await tx
    .insertInto('pending_ref_updates')
    .columns(['repository_id'])
    .expression((eb) => eb.selectFrom('repositories').select('id'))
    .execute()
  await tx.updateTable('pull_requests').set({ head_ref_commit: null }).execute()
}
