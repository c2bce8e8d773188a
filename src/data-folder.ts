import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Repositories, repositoriesIn } from './git/repositories/repositories.ts'
import { type DataLock, lockDataFolder } from './storage/database/data-lock.ts'
import { openDatabase } from './storage/database/database.ts'
import { type MigrationRun, migrate, schemaVersion } from './storage/database/migrate.ts'
import { checkPostgres, openPostgres, type PostgresAddress } from './storage/database/postgres.ts'
import { lockPostgres } from './storage/database/postgres-lock.ts'
import { migrations } from './storage/migrations/index.ts'
import type { AttachmentFiles } from './storage/repos/attachment-files.ts'
import type { Db } from './storage/schema/schema.ts'

/** Where the data of an instance are. */
export interface DataPlace {
  /** Absolute path of the data folder. */
  readonly data: string
  /** URI of a PostgreSQL database; undefined for SQLite in the data folder. */
  readonly database?: string | undefined
  /** File with the password of that database. */
  readonly databasePasswordFile?: string | undefined
}

/**
 * The data folder of an instance. With PostgreSQL, there is no `branchline.db`.
 *
 *     branchline.db     the database, with keys and password hashes
 *     repositories/     bare Git repositories, by id
 *     attachments/      release assets, by the id of the repository
 *     lock              held by the process that uses the folder
 */
const DATABASE_FILE = 'branchline.db'
const REPOSITORIES_FOLDER = 'repositories'
const ATTACHMENTS_FOLDER = 'attachments'

/** Returns the repositories of a data folder, without accessing the folder. */
export function repositoriesOf(folder: string): Repositories {
  return repositoriesIn(join(folder, REPOSITORIES_FOLDER))
}

/** Returns the attachments of a data folder. */
export function attachmentsOf(folder: string): AttachmentFiles {
  return { folder: join(folder, ATTACHMENTS_FOLDER) }
}

/**
 * Locks the data of an instance for this process, and creates the folder when it is missing.
 *
 * @param onLost called when another process has taken the lock of PostgreSQL, after this process was
 *   cut off. This process must end, and does so by default.
 * @throws DataFolderBusyError; DatabaseBusyError, UnsuitableDatabaseError
 */
export async function lockData(
  place: DataPlace,
  onLost: (error: Error) => void = endProcess,
): Promise<DataLock> {
  await makeFolder(place.data)
  const folder = lockDataFolder(place.data)
  const address = postgresOf(place)
  if (address === undefined) return folder
  try {
    const database = await lockPostgres(address, onLost)
    return {
      async release() {
        await database.release()
        folder.release()
      },
    }
  } catch (error) {
    folder.release()
    throw error
  }
}

function postgresOf({ database, databasePasswordFile }: DataPlace): PostgresAddress | undefined {
  return database === undefined ? undefined : { url: database, passwordFile: databasePasswordFile }
}

/**
 * Opens the database of an instance and migrates it. Creates the folder and the tables when they
 * are missing.
 *
 * @param onError called with failures of idle connections to PostgreSQL.
 * @throws NewerDatabaseError, UnsuitableDatabaseError
 */
export async function openData(place: DataPlace, onError?: (error: Error) => void): Promise<Db> {
  const db = await openPlace(place, onError)
  try {
    await migrate(db)
    return db
  } catch (error) {
    await db.destroy()
    throw error
  }
}

/**
 * Opens the database of an instance without migrating it.
 *
 * @throws Error with a sentence when there is none, or its version differs from this program's.
 */
export async function openDataAsItIs(place: DataPlace): Promise<Db> {
  const file = place.database === undefined ? join(place.data, DATABASE_FILE) : place.data
  await stat(file).catch(() => {
    throw new Error(`there is no ${file}: --data names the folder of an instance`)
  })
  const db = await openPlace(place)
  const version = await schemaVersion(db)
  if (version === migrations.length) return db
  await db.destroy()
  throw new Error(
    `the database is at version ${version} and this Branchline works with ${migrations.length}: ` +
      'use the Branchline that serves it, or bring it up to date with `migrate`',
  )
}

/**
 * Migrates the database of an instance that no server uses.
 *
 * @throws RangeError for a version that does not exist, NewerDatabaseError, DataFolderBusyError
 */
export async function migrateData(
  place: DataPlace,
  version: number | undefined,
): Promise<MigrationRun> {
  const lock = await lockData(place)
  try {
    const db = await openPlace(place)
    return await migrate(db, version).finally(() => db.destroy())
  } finally {
    await lock.release()
  }
}

function endProcess(error: Error): never {
  throw error
}

async function openPlace(
  place: DataPlace,
  onError: (error: Error) => void = () => {},
): Promise<Db> {
  await makeFolder(place.data)
  const address = postgresOf(place)
  if (address === undefined) return openDatabase(join(place.data, DATABASE_FILE))
  const db = openPostgres({ ...address, onError })
  try {
    await checkPostgres(db)
    return db
  } catch (error) {
    await db.destroy()
    throw error
  }
}

/** Creates a folder that only the user of the server can access. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
}
