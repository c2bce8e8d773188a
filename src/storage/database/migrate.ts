import { sql } from 'kysely'
import { type Migration, migrations } from '../migrations/index.ts'
import type { Db } from '../schema/schema.ts'
import { transaction } from './database.ts'

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
 * @param target the version; the newest when left out. A version below the current one runs `down`
 *   steps.
 * @throws NewerDatabaseError when the database is newer than this program.
 */
export async function migrate(
  db: Db,
  target?: number,
  steps: readonly Migration[] = migrations,
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
export async function schemaVersion(db: Db): Promise<number> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(db)
  return rows[0]?.user_version ?? 0
}

async function step(
  db: Db,
  migration: Migration | undefined,
  way: 'up' | 'down',
  version: number,
): Promise<string> {
  if (!migration) throw new RangeError(`there is no migration to version ${version}`)
  await transaction(db, async (tx) => {
    // Another process may have run this step at the same time.
    const present = await sql<{ user_version: number }>`pragma user_version`.execute(tx)
    if (present.rows[0]?.user_version === version) return
    await migration[way](tx)
    await sql.raw(`pragma user_version = ${version}`).execute(tx)
  })
  return migration.name
}
