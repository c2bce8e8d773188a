import { sql } from 'kysely'
import { type Migration, migrations } from '../migrations/index.ts'
import type { Db } from '../schema/schema.ts'
import { transaction } from './database.ts'

/** The database was written by a newer Branchline than this one. */
export class NewerDatabaseError extends Error {
  constructor(found: number, known: number) {
    super(
      `the database is at version ${found}, and this Branchline knows versions up to ${known}: ` +
        'start the newer Branchline that wrote it, or restore a backup made before the upgrade',
    )
    this.name = 'NewerDatabaseError'
  }
}

/** What a migration run did. */
export interface MigrationRun {
  readonly from: number
  readonly to: number
  /** Names of the migrations that ran, in the order in which they did. */
  readonly ran: readonly string[]
}

/**
 * Brings the schema to a version, each step in a transaction of its own together with the version
 * number, so that a process that dies in between leaves a whole version behind.
 *
 * @param target the version wanted; the newest when left out. A lower one than the present runs
 *   `down` steps.
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

/** The version of the schema; 0 for an empty database. */
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
    // Another process may have started at the same moment and taken this step first.
    const present = await sql<{ user_version: number }>`pragma user_version`.execute(tx)
    if (present.rows[0]?.user_version === version) return
    await migration[way](tx)
    await sql.raw(`pragma user_version = ${version}`).execute(tx)
  })
  return migration.name
}
