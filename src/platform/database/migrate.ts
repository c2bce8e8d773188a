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
  /**
   * Whether servers of the version before go on with the schema, and may start: the step adds tables,
   * indexes and triggers, and leaves the columns of all tables as they are. A step that changes or
   * removes what the version before uses comes a version later, without this mark.
   */
  readonly isAdditive?: boolean
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
 * @throws NewerDatabaseError when the database is newer than this program, unless what was added does
 *   not concern this program, and no version is asked for.
 */
export async function runMigrations(
  db: Db,
  steps: readonly Migration[],
  target?: number,
): Promise<MigrationRun> {
  const from = await schemaVersion(db)
  const to = target ?? steps.length
  if (from > steps.length) {
    const isServed = target === undefined && (await oldestReader(db)) <= steps.length
    if (isServed) return { from, to: from, ran: [] }
    throw new NewerDatabaseError(from, steps.length)
  }
  if (!Number.isInteger(to) || to < 0 || to > steps.length) {
    throw new RangeError(
      `there is no database version ${to}: versions go from 0 to ${steps.length}`,
    )
  }
  const ran: string[] = []
  for (let version = from; version < to; version++)
    ran.push(await step(db, steps, 'up', version + 1))
  for (let version = from; version > to; version--)
    ran.push(await step(db, steps, 'down', version - 1))
  return { from, to, ran }
}

/** Returns the oldest version whose program can use the schema of another version. */
export function oldestReaderOf(steps: readonly Migration[], version: number): number {
  let oldest = version
  while (steps[oldest - 1]?.isAdditive) oldest -= 1
  return oldest
}

/** Returns that version of a database, which the program that migrated it has recorded. */
async function oldestReader(db: Db): Promise<number> {
  const { rows } = await (isPostgres(db)
    ? sql<{ oldest: number }>`select oldest from schema_version`
    : sql<{ oldest: number }>`select application_id as oldest from pragma_application_id`
  ).execute(db)
  return rows[0]?.oldest || Number.POSITIVE_INFINITY
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

/** Records the version, and the oldest one that can use the schema, in the transaction of the step. */
async function writeVersion(tx: Tx, version: number, oldest: number): Promise<void> {
  if (!isPostgres(tx)) {
    await sql.raw(`pragma user_version = ${version}`).execute(tx)
    // The other number that SQLite keeps for applications (https://sqlite.org/pragma.html).
    await sql.raw(`pragma application_id = ${oldest}`).execute(tx)
    return
  }
  await sql`create table if not exists schema_version (version integer not null)`.execute(tx)
  await sql`alter table schema_version add column if not exists oldest integer`.execute(tx)
  await sql`delete from schema_version`.execute(tx)
  await sql`insert into schema_version (version, oldest) values (${version}, ${oldest})`.execute(tx)
}

/** Waits until no other process migrates the database. SQLite has one writer at a time anyway. */
async function lockSchema(tx: Tx): Promise<void> {
  if (isPostgres(tx)) await sql`select pg_advisory_xact_lock(${SCHEMA_LOCK})`.execute(tx)
}

/** The number of the advisory lock of the schema: "branchl" in ASCII. */
const SCHEMA_LOCK = 0x6272616e63686c

async function step(
  db: Db,
  steps: readonly Migration[],
  way: 'up' | 'down',
  version: number,
): Promise<string> {
  const migration = steps[way === 'up' ? version - 1 : version]
  if (!migration) throw new RangeError(`there is no migration to version ${version}`)
  await transaction(db, async (tx) => {
    await lockSchema(tx)
    // Another process may have run this step at the same time.
    const present = await schemaVersion(tx)
    if (way === 'up' ? present >= version : present === version) return
    await migration[way](tx)
    await writeVersion(tx, version, oldestReaderOf(steps, version))
  })
  return migration.name
}
