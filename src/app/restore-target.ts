import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { RestoreTarget } from '../forge/administration/restore.ts'
import { ServerSession } from '../platform/database/coordination/session.ts'
import {
  beginRestore,
  endRestore,
  finishRestore,
  isReplaceable,
} from '../platform/database/data-folders.ts'
import { openDatabase } from '../platform/database/database.ts'
import { checkPostgres, openPostgres, type PostgresAddress } from '../platform/database/postgres.ts'
import type { Db } from '../platform/database/schema.ts'
import {
  COMMAND_EVENTS,
  DATABASE_FILE,
  type DataPlace,
  folderId,
  postgresOf,
  writeFolderId,
} from './data-folder.ts'

/** The place of a restore, until its release. */
interface OpenRestoreTarget extends RestoreTarget {
  /** Whether an interrupted restore needed its last step only, which was made now. */
  readonly wasFinished: boolean
  release(): Promise<void>
}

/**
 * Opens the place of a restore. Takes a PostgreSQL database for this process alone.
 *
 * @throws DatabaseBusyError, UnsuitableDatabaseError; Error with a sentence when the database is in
 *   use by an instance.
 */
export async function openRestoreTarget(place: DataPlace): Promise<OpenRestoreTarget> {
  const address = postgresOf(place)
  return address === undefined ? sqliteTarget(place.data) : postgresTarget(place.data, address)
}

function sqliteTarget(folder: string): OpenRestoreTarget {
  let db: Db | undefined
  const close = async () => {
    await db?.destroy()
    db = undefined
  }
  return {
    folder,
    wasFinished: false,
    async open(draft) {
      const opened = openDatabase(join(draft, DATABASE_FILE))
      db = opened
      // The folder gets its name last, so its database needs no mark. The last connection copies
      // the log into the database and removes the log.
      return { db: opened, begin: async () => {}, seal: close, complete: async () => {} }
    },
    release: close,
  }
}

async function postgresTarget(
  folder: string,
  address: PostgresAddress,
): Promise<OpenRestoreTarget> {
  const session = await ServerSession.open(address, 'alone', COMMAND_EVENTS)
  const db = openPostgres({ ...address, onError: () => {} })
  const release = async () => {
    await db.destroy()
    await session.end()
  }
  try {
    await checkPostgres(db)
    if (!(await isReplaceable(db)))
      throw new Error('the PostgreSQL database is not empty: name a new one')
    const id = await folderId(folder)
    const wasFinished = id !== undefined && (await finishRestore(db, id))
    return { folder, wasFinished, open: async (draft) => postgresSteps(db, draft), release }
  } catch (error) {
    await release()
    throw error
  }
}

function postgresSteps(db: Db, draft: string) {
  const id = randomUUID()
  return {
    db,
    begin: () => beginRestore(db, id),
    seal: () => writeFolderId(draft, id),
    complete: () => endRestore(db, id),
  }
}
