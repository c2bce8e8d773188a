import { sql } from 'kysely'
import { transaction } from './database.ts'
import { isPostgres } from './dialects/dialects.ts'
import type { Db, Tx } from './schema.ts'

/** The database was written by a newer version of this program. */
export class NewerDatabaseError extends Error {
  constructor(found: number, known: number) {
    super(
      `the database is at version ${found}, and this Branchline knows versions up to ${known}: ` +
        'start the newer Branchline that wrote it, or restore a backup made before the upgrade',
    )
    this.name = 'NewerDatabaseError'
  }
}

/** One step of the schema. `down` reverts `up`. Both run in a transaction. */
export interface Migration {
  readonly name: string
  up(tx: Tx): Promise<void>
  down(tx: Tx): Promise<void>
}

/** The result of a migration. */
export interface MigrationRun {
  readonly from: number
  readonly to: number
  /** The names of the migrations that ran, in order. */
  readonly ran: readonly string[]
}

/**
 * Migrates the schema to a version. Each step and its version number are one transaction, so a
 * process that dies leaves a complete version.
 *
 * @param steps all migrations, in order.
 * @param target the version; the newest when left out. A version below the current one runs `down`
 *   steps.
 * @throws NewerDatabaseError when the database is newer than this program.
 */
export async function runMigrations(
  db: Db,
  steps: readonly Migration[],
  target?: number,
): Promise<MigrationRun> {
  const from = await schemaVersion(db)
  const to = target ?? steps.length
  if (from > steps.length) throw new NewerDatabaseError(from, steps.length)
  if (!Number.isInteger(to) || to < 0 || to > steps.length) {
    throw new RangeError(
      `there is no database version ${to}: versions go from 0 to ${steps.length}`,
    )
  }
  const ran: string[] = []
  for (let version = from; version < to; version++)
    ran.push(await step(db, steps[version], 'up', version + 1))
  for (let version = from; version > to; version--)
    ran.push(await step(db, steps[version - 1], 'down', version - 1))
  return { from, to, ran }
}

/** Returns the version of the schema; 0 for an empty database. */
export function schemaVersion(db: Db): Promise<number> {
  return isPostgres(db) ? postgresVersion(db) : sqliteVersion(db)
}

async function sqliteVersion(db: Db): Promise<number> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(db)
  return rows[0]?.user_version ?? 0
}

/** PostgreSQL has no number for the use of applications, so a table with one row has the version. */
async function postgresVersion(db: Db): Promise<number> {
  const { rows: tables } = await sql<{ id: string | null }>`
    select to_regclass('schema_version') as id`.execute(db)
  if (tables[0]?.id === null) return 0
  const { rows } = await sql<{ version: number }>`select version from schema_version`.execute(db)
  return rows[0]?.version ?? 0
}

/** Records the version in the transaction of its step. */
async function writeVersion(tx: Tx, version: number): Promise<void> {
  if (!isPostgres(tx)) {
    await sql.raw(`pragma user_version = ${version}`).execute(tx)
    return
  }
  await sql`create table if not exists schema_version (version integer not null)`.execute(tx)
  await sql`delete from schema_version`.execute(tx)
  await sql`insert into schema_version values (${version})`.execute(tx)
}

/** Waits until no other process migrates the database. SQLite has one writer at a time anyway. */
async function lockSchema(tx: Tx): Promise<void> {
  if (isPostgres(tx)) await sql`select pg_advisory_xact_lock(${SCHEMA_LOCK})`.execute(tx)
}

/** The number of the advisory lock of the schema: "branchl" in ASCII. */
const SCHEMA_LOCK = 0x6272616e63686c

async function step(
  db: Db,
  migration: Migration | undefined,
  way: 'up' | 'down',
  version: number,
): Promise<string> {
  if (!migration) throw new RangeError(`there is no migration to version ${version}`)
  await transaction(db, async (tx) => {
    await lockSchema(tx)
    // Another process may have run this step at the same time.
    if ((await schemaVersion(tx)) === version) return
    await migration[way](tx)
    await writeVersion(tx, version)
  })
  return migration.name
}
