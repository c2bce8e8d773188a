import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Repositories, repositoriesIn } from './git/repositories/repositories.ts'
import { type DataLock, lockDataFolder } from './storage/database/data-lock.ts'
import { openDatabase } from './storage/database/database.ts'
import { type MigrationRun, migrate, schemaVersion } from './storage/database/migrate.ts'
import { migrations } from './storage/migrations/index.ts'
import type { AttachmentFiles } from './storage/repos/attachment-files.ts'
import type { Db } from './storage/schema/schema.ts'

/**
 * The data folder of an instance.
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
 * Locks a data folder for this process, and creates the folder when it is missing.
 *
 * @throws DataFolderBusyError
 */
export async function lockData(folder: string): Promise<DataLock> {
  await makeFolder(folder)
  return lockDataFolder(folder)
}

/**
 * Opens the database of a data folder and migrates it. Creates both when they are missing.
 *
 * @throws NewerDatabaseError
 */
export async function openData(folder: string): Promise<Db> {
  const db = await openFolder(folder)
  try {
    await migrate(db)
    return db
  } catch (error) {
    await db.destroy()
    throw error
  }
}

/**
 * Opens the database of a data folder without migrating it.
 *
 * @throws Error with a sentence when there is none, or its version differs from this program's.
 */
export async function openDataAsItIs(folder: string): Promise<Db> {
  const file = join(folder, DATABASE_FILE)
  await stat(file).catch(() => {
    throw new Error(`there is no ${file}: --data names the folder of an instance`)
  })
  const db = openDatabase(file)
  const version = await schemaVersion(db)
  if (version === migrations.length) return db
  await db.destroy()
  throw new Error(
    `the database is at version ${version} and this Branchline works with ${migrations.length}: ` +
      'use the Branchline that serves it, or bring it up to date with `migrate`',
  )
}

/**
 * Migrates the database of a data folder that no server uses.
 *
 * @throws RangeError for a version that does not exist, NewerDatabaseError, DataFolderBusyError
 */
export async function migrateData(
  folder: string,
  version: number | undefined,
): Promise<MigrationRun> {
  const lock = await lockData(folder)
  try {
    const db = await openFolder(folder)
    return await migrate(db, version).finally(() => db.destroy())
  } finally {
    lock.release()
  }
}

async function openFolder(folder: string): Promise<Db> {
  await makeFolder(folder)
  return openDatabase(join(folder, DATABASE_FILE))
}

/** Creates a folder that only the user of the server can access. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
}
