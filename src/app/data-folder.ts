import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { migrate, migrations } from '../forge/migrations/index.ts'
import { DATA_FOLDER_LAYOUT } from '../forge/repositories/attachments/attachment-files.ts'
import {
  GroupLock,
  lockDataFolderAfterOrphans,
} from '../platform/database/coordination/group-lock.ts'
import {
  type GroupChannel,
  GroupLocks,
  GroupMembership,
  HostedGuesses,
} from '../platform/database/coordination/group-membership.ts'
import { createSharedExclusive, SharedLocks } from '../platform/database/coordination/locks.ts'
import type {
  Alone,
  Locks,
  Membership,
  SharedGuesses,
  Turns,
} from '../platform/database/coordination/ports.ts'
import {
  ServerSession,
  type SessionEvents,
  type UseOfDatabase,
} from '../platform/database/coordination/session.ts'
import { WriteTurns } from '../platform/database/coordination/write-turns.ts'
import { claimFor, folderOf, type OwnFolder } from '../platform/database/data-folders.ts'
import {
  DataFolderBusyError,
  type DataLock,
  lockDataFolder,
} from '../platform/database/data-lock.ts'
import { openDatabase } from '../platform/database/database.ts'
import { type MigrationRun, oldestReaderOf, schemaVersion } from '../platform/database/migrate.ts'
import { checkPostgres, openPostgres, type PostgresAddress } from '../platform/database/postgres.ts'
import type { Db } from '../platform/database/schema.ts'
import {
  type Repositories,
  repositoriesIn,
  scratchFolderOf,
} from '../platform/git/repositories/repositories.ts'
import { createFolderStore } from '../platform/objects/folder-store.ts'
import { type ObjectStores, objectStores } from '../platform/objects/object-store.ts'
import { HOST_KEYS_FOLDER } from './private-files.ts'

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
 * The data folder of an instance. With PostgreSQL, there is a file `postgresql` instead of
 * `branchline.db`, and no lock.
 *
 *     branchline.db     the database, with keys and password hashes
 *     repositories/     bare Git repositories, by id; removed objects (`limbo`) and replaced files
 *     attachments/      release assets and attachments of issues, by the id of the repository
 *     ssh/              host keys of SSH
 *     lock              held by the processes that use the folder
 */
export const DATABASE_FILE = 'branchline.db'
const REPOSITORIES_FOLDER = 'repositories'

/** In a folder whose rows are in PostgreSQL, instead of a database file: the id of the folder. */
const MARKER_FILE = 'postgresql'

/** The use of the data of an instance, until its release. */
interface DataUse extends DataLock, OpeningParts {
  /** What several servers of one database share. */
  readonly shared?: Shared
  /** Called when the database is open, before this process takes locks. */
  onOpen?(): void
}

/** The membership of this process among the servers of one database, and what they share. */
export interface Shared {
  readonly session: Membership
  readonly locks: Locks
  /** Undefined where the servers count wrong guesses in rows. */
  readonly guesses?: SharedGuesses
}

/** What a process opens the database with, if others use it. */
interface OpeningParts {
  /** A migration waits until no other process uses the database. */
  readonly alone?: Alone
  /** With PostgreSQL: the session of this server. */
  readonly postgres?: ServerSession
  /** With SQLite: the turns to write. */
  readonly turns?: Turns
}

/**
 * Returns the repositories of a data folder, without accessing the folder.
 *
 * @param scratch the scratch folder of this server, if it shares the data with others.
 */
export function repositoriesOf(
  folder: string,
  shared?: { readonly locks: Locks; readonly scratch: string },
): Repositories {
  const repositories = join(folder, REPOSITORIES_FOLDER)
  if (!shared) return repositoriesIn(repositories)
  return repositoriesIn(repositories, {
    scratch: shared.scratch,
    locks: createSharedExclusive(shared.locks, 'repository'),
    refCreations: createSharedExclusive(shared.locks, 'refs'),
  })
}

/** Returns the stores of release assets and attachments of a data folder. */
export function objectsOf(folder: string): ObjectStores {
  return objectStores([createFolderStore(folder, DATA_FOLDER_LAYOUT)])
}

/** Returns the folder of the host keys of SSH. It exists once the server has served SSH. */
export function hostKeysFolderOf(folder: string): string {
  return join(folder, HOST_KEYS_FOLDER)
}

/** A scratch folder of a server that shares the data with others. */
interface Scratch extends DataLock {
  /** Absolute path. */
  readonly path: string
}

/**
 * Creates a scratch folder for this server, and removes those of servers that have ended.
 *
 * @param onEnded called with the path of each of them before its removal.
 */
export async function claimScratch(
  folder: string,
  onEnded: (path: string) => void,
): Promise<Scratch> {
  const all = scratchFolderOf(join(folder, REPOSITORIES_FOLDER))
  await mkdir(all, { recursive: true, mode: 0o700 })
  for (const name of await readdir(all)) {
    const path = join(all, name)
    const lock = await tryLock(path)
    if (!lock) continue
    onEnded(path)
    // A Git process of the ended server can still write there. The next start removes the rest.
    await rm(path, { recursive: true, force: true }).catch(() => {})
    lock.release()
  }
  const path = join(all, randomUUID())
  // The folder is locked from the first moment in which another server can see it.
  const draft = join(folder, `scratch-${randomUUID()}`)
  await mkdir(draft, { mode: 0o700 })
  const lock = lockDataFolder(draft)
  await rename(draft, path)
  return {
    path,
    async release() {
      await rm(path, { recursive: true, force: true })
      lock.release()
    },
  }
}

/** Returns the lock of a folder; undefined if another server holds it. */
async function tryLock(path: string): Promise<DataLock | undefined> {
  try {
    return lockDataFolder(path)
  } catch (error) {
    if (error instanceof DataFolderBusyError) return undefined
    // A file, or a folder that another server removes.
    return { release: () => {} }
  }
}

/**
 * Takes the data of an instance for this process, and creates the folder when it is missing. With
 * SQLite, one process uses the data at a time, or the worker processes of one server. With
 * PostgreSQL, servers use them together.
 *
 * @param group the channel of a worker process to its primary process.
 * @throws DataFolderBusyError; DatabaseBusyError, UnsuitableDatabaseError
 */
export async function useData(
  place: DataPlace,
  use: UseOfDatabase,
  events: SessionEvents = COMMAND_EVENTS,
  group?: GroupChannel,
): Promise<DataUse> {
  await makeFolder(place.data)
  const address = postgresOf(place)
  if (address === undefined) {
    if (group) return joinGroup(place.data, group)
    return use === 'server' ? lockDataFolderAfterOrphans(place.data) : lockDataFolder(place.data)
  }
  const session = await ServerSession.open(address, use, events)
  return {
    shared: { session, locks: new SharedLocks(session) },
    alone: session,
    postgres: session,
    release: () => session.end(),
  }
}

/** Takes a data folder together with the other worker processes of this server. */
async function joinGroup(folder: string, channel: GroupChannel): Promise<DataUse> {
  const lock = await GroupLock.join(folder, { id: channel.groupId, primaryPid: process.ppid })
  const session = new GroupMembership(channel)
  return {
    shared: { session, locks: new GroupLocks(session), guesses: new HostedGuesses(session) },
    alone: lock,
    turns: new WriteTurns(channel),
    onOpen: () => session.beginWatch(),
    release() {
      session.end()
      lock.release()
    },
  }
}

/** A command ends when it is no longer alone. */
export const COMMAND_EVENTS: SessionEvents = {
  onLost: (error) => {
    throw error
  },
  onFailure: () => {},
}

/** Returns the address of the PostgreSQL database; undefined for SQLite. */
export function postgresOf({
  database,
  databasePasswordFile,
}: DataPlace): PostgresAddress | undefined {
  return database === undefined ? undefined : { url: database, passwordFile: databasePasswordFile }
}

/**
 * Opens the database of an instance and migrates it. Creates the folder and the tables when they
 * are missing.
 *
 * @param parts those of a server that shares the database.
 * @param onError called with failures of idle connections to PostgreSQL.
 * @throws NewerDatabaseError, UnsuitableDatabaseError, DatabaseBusyError
 */
export async function openData(
  place: DataPlace,
  parts: OpeningParts = {},
  onError?: (error: Error) => void,
): Promise<Db> {
  const db = await openPlace(place, onError, parts)
  try {
    // Servers of an earlier version go on with what is only added.
    const oldest = oldestReaderOf(migrations, migrations.length)
    const isOld = async () => (await schemaVersion(db)) < oldest
    await parts.alone?.alone(isOld, () => migrate(db))
    await migrate(db)
    if (place.database !== undefined) await claimFolder(place, db)
    return db
  } catch (error) {
    await db.destroy()
    throw error
  }
}

/**
 * Checks that a data folder belongs to its PostgreSQL database, and lets the first folder belong to
 * it.
 *
 * @throws Error with a sentence for the operator.
 */
async function claimFolder({ data }: DataPlace, db: Db): Promise<void> {
  const owner = await folderOf(db)
  // A folder that is refused remains as it is, so that a restore can use it.
  if (owner) return checkFolder(data, await folderId(data), owner)
  const id = (await folderId(data)) ?? (await giveFolderId(data))
  checkFolder(data, id, await claimFor(db, id))
}

/** Gives a folder an id. When several servers do so at once, one of their ids is that of the folder. */
async function giveFolderId(data: string): Promise<string> {
  const marker = join(data, MARKER_FILE)
  const draft = `${marker}.${randomUUID()}`
  await writeFile(draft, randomUUID(), { flush: true })
  try {
    await link(draft, marker)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await rm(draft)
  }
  return readFile(marker, 'utf8')
}

/** @throws Error with a sentence for the operator, when the database belongs to another folder. */
function checkFolder(data: string, id: string | undefined, owner: OwnFolder | undefined): void {
  if (owner?.isRestoring) {
    throw new Error(
      'the PostgreSQL database has an interrupted restore: run the same `restore` again',
    )
  }
  if (owner !== undefined && owner.id === id) return
  throw new Error(`the PostgreSQL database belongs to another data folder than ${data}`)
}

/** Returns the id of a folder whose rows are in PostgreSQL; undefined for another folder. */
export async function folderId(data: string): Promise<string | undefined> {
  const marker = join(data, MARKER_FILE)
  return existsSync(marker) ? await readFile(marker, 'utf8') : undefined
}

/** Lets the rows of a new folder be in PostgreSQL. */
export async function writeFolderId(data: string, id: string): Promise<void> {
  await writeFile(join(data, MARKER_FILE), id, { flush: true })
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
  try {
    await checkVersion(db)
    if (place.database !== undefined)
      checkFolder(place.data, await folderId(place.data), await folderOf(db))
    return db
  } catch (error) {
    await db.destroy()
    throw error
  }
}

/** @throws Error with a sentence for the operator. */
async function checkVersion(db: Db): Promise<void> {
  const version = await schemaVersion(db)
  if (version === migrations.length) return
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
  const lock = await useData(place, 'alone')
  try {
    const db = await openPlace(place)
    return await migrate(db, version).finally(() => db.destroy())
  } finally {
    await lock.release()
  }
}

async function openPlace(
  place: DataPlace,
  onError: (error: Error) => void = () => {},
  { postgres: session, turns }: OpeningParts = {},
): Promise<Db> {
  await makeFolder(place.data)
  const address = postgresOf(place)
  const file = join(place.data, DATABASE_FILE)
  const marker = join(place.data, MARKER_FILE)
  if (address === undefined) {
    if (existsSync(marker))
      throw new Error(
        `the rows of ${place.data} are in PostgreSQL: name the database by --database`,
      )
    return openDatabase(file, turns)
  }
  if (existsSync(file))
    throw new Error(`the rows of ${place.data} are in ${file}: leave out --database`)
  const db = openPostgres({ ...address, onError, session })
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
