import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { DATABASE_FILE } from '../../src/app/data-folder.ts'
import { migrate } from '../../src/forge/migrations/index.ts'
import { openDatabase } from '../../src/platform/database/database.ts'
import { openPostgres } from '../../src/platform/database/postgres.ts'
import type { Db } from '../../src/platform/database/schema.ts'
import { PostgresPool } from './postgres-pool.ts'

/** The URI of a PostgreSQL server for the tests. They use SQLite without it. */
const postgresUrl = process.env.BRANCHLINE_TEST_POSTGRES

/**
 * Whether the tests run on PostgreSQL: only for tests of what SQLite alone has, which say in their
 * names why they are skipped.
 */
export const isOnPostgres = postgresUrl !== undefined

/** The databases of this worker on PostgreSQL. */
const pool = postgresUrl === undefined ? undefined : new PostgresPool(postgresUrl)

/** The databases in use that are not in data folders. */
const opened = new Set<string>()

/** The databases of data folders, by folder. */
const ofFolders = new Map<string, Promise<string>>()

/** Opens an empty database of the current version. */
export async function openTestDatabase(): Promise<Db> {
  if (!pool) return openDatabase(await emptySqlite())
  const name = await pool.acquire()
  opened.add(name)
  return openPostgres({ url: pool.urlOf(name), onError: () => {} })
}

let sqliteTemplate: Promise<Buffer> | undefined

/** Returns the bytes of an empty SQLite database of the current version, which copies need not migrate. */
function emptySqlite(): Promise<Buffer> {
  sqliteTemplate ??= migrateSqlite()
  return sqliteTemplate
}

async function migrateSqlite(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-template-'))
  const path = join(folder, DATABASE_FILE)
  const db = openDatabase(':memory:')
  await migrate(db)
  await sql`vacuum into ${path}`.execute(db)
  await db.destroy()
  const bytes = await readFile(path)
  await rm(folder, { recursive: true })
  return bytes
}

/** Creates a data folder with an empty database, so that its first server need not migrate it. */
export async function createDataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-'))
  await prepareDatabase(folder)
  return folder
}

/**
 * Writes an empty SQLite database to a data folder that has none. Does nothing if there is no such
 * folder, and on PostgreSQL, where databases are empty and migrated already.
 */
export async function prepareDatabase(folder: string): Promise<void> {
  const path = join(folder, DATABASE_FILE)
  if (postgresUrl !== undefined || !existsSync(folder) || existsSync(path)) return
  await writeFile(path, await emptySqlite(), { mode: 0o600 })
}

/**
 * Opens an empty SQLite database of the current version in the file of a data folder, for tests of what a
 * database in memory has not.
 */
export async function openDatabaseFile(folder: string): Promise<Db> {
  await prepareDatabase(folder)
  return openDatabase(join(folder, DATABASE_FILE))
}

/**
 * Returns the URI of the database that belongs to a data folder, an empty one at first. Undefined for
 * SQLite, whose database is in the folder.
 */
export async function databaseOf(folder: string): Promise<string | undefined> {
  if (!pool) return undefined
  const name = ofFolders.get(folder) ?? pool.acquire()
  ofFolders.set(folder, name)
  return pool.urlOf(await name)
}

/** Gives up the database of a data folder that is about to be removed. */
export async function dropDatabaseOf(folder: string): Promise<void> {
  const name = await ofFolders.get(folder)
  ofFolders.delete(folder)
  if (name !== undefined) await pool?.release(name)
}

/** Returns the databases on PostgreSQL that are not in data folders. */
export function listTestDatabases(): string[] {
  return [...opened]
}

/** Gives up databases on PostgreSQL that are not in data folders. */
export async function releaseTestDatabases(names: readonly string[]): Promise<void> {
  for (const name of names) {
    opened.delete(name)
    await pool?.release(name)
  }
}

/** Gives up all databases on PostgreSQL. */
export async function releaseAllDatabases(): Promise<void> {
  await releaseTestDatabases([...opened])
  for (const folder of [...ofFolders.keys()]) await dropDatabaseOf(folder)
}
