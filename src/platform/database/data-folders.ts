import { sql } from 'kysely'
import { transaction } from './database.ts'
import { schemaVersion } from './migrate.ts'
import type { Db } from './schema.ts'

/** The data folder that a PostgreSQL database belongs to. */
export interface OwnFolder {
  /** The id of the folder. */
  readonly id: string
  /** Whether a restore has begun and not ended. The database may have a part of the rows. */
  readonly isRestoring: boolean
}

/** Before the id of a folder, while a restore runs or after it was interrupted. */
const RESTORING = 'restoring '

/** Returns the folder that a database belongs to; undefined for one that no server has used. */
export async function folderOf(db: Db): Promise<OwnFolder | undefined> {
  const row = await db.selectFrom('data_folders').select('id').executeTakeFirst()
  if (!row) return undefined
  const isRestoring = row.id.startsWith(RESTORING)
  return { id: isRestoring ? row.id.slice(RESTORING.length) : row.id, isRestoring }
}

/** Lets a database belong to a folder, unless it belongs to one. Returns the folder. */
export function claimFor(db: Db, id: string): Promise<OwnFolder> {
  return transaction(db, async (tx) => {
    const known = await folderOf(tx)
    if (known) return known
    await tx.insertInto('data_folders').values({ id }).execute()
    return { id, isRestoring: false }
  })
}

/** Records that a restore into a folder has begun. */
export function beginRestore(db: Db, id: string): Promise<void> {
  return transaction(db, async (tx) => {
    await tx.deleteFrom('data_folders').execute()
    await tx
      .insertInto('data_folders')
      .values({ id: `${RESTORING}${id}` })
      .execute()
  })
}

/** Records that the restore into a folder has ended. */
export async function endRestore(db: Db, id: string): Promise<void> {
  await db.updateTable('data_folders').set({ id }).where('id', '=', `${RESTORING}${id}`).execute()
}

/**
 * Ends an interrupted restore whose folder has its name.
 *
 * @param id the id of the folder.
 * @returns whether there was such a restore.
 */
export async function finishRestore(db: Db, id: string): Promise<boolean> {
  if ((await schemaVersion(db)) < FOLDERS_SINCE) return false
  const owner = await folderOf(db)
  if (!owner?.isRestoring || owner.id !== id) return false
  await endRestore(db, id)
  return true
}

/** The first version of the schema with the table of data folders. */
const FOLDERS_SINCE = 27

/**
 * Returns whether a restore may replace the rows of a PostgreSQL database: when there are no tables,
 * or those of a migration or of an interrupted restore.
 */
export async function isReplaceable(db: Db): Promise<boolean> {
  const version = await schemaVersion(db)
  if (version === 0) return (await countTables(db)) === 0
  if (version >= FOLDERS_SINCE) return (await folderOf(db))?.isRestoring ?? true
  return (await db.selectFrom('users').select('id').executeTakeFirst()) === undefined
}

async function countTables(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from information_schema.tables where table_schema = current_schema()`.execute(
    db,
  )
  return rows[0]?.count ?? 0
}
