import type { ExpressionBuilder } from 'kysely'
import type { Db, Schema, Tx } from '../../../platform/database/schema.ts'
import type { FilePlace, StorageDeletion } from './schema.ts'

/** Times in Unix seconds. */
interface ClaimTimes {
  readonly now: number
  /** Claims before this time are of servers that have ended. */
  readonly staleBefore: number
}

/** Returns deletions that are due and of no server, the longest due first. */
export function dueStorageDeletions(
  db: Db,
  times: ClaimTimes,
  limit: number,
): Promise<StorageDeletion[]> {
  return db
    .selectFrom('storage_deletions')
    .selectAll()
    .where('due_time', '<=', times.now)
    .where(isFree(times))
    .orderBy('due_time')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Takes a deletion for this server. @returns false if it is done, cancelled or another server's. */
export async function claimStorageDeletion(
  db: Db,
  id: number,
  times: ClaimTimes,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('storage_deletions')
    .set({ claim_time: times.now })
    .where('id', '=', id)
    .where(isFree(times))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function isFree({ staleBefore }: ClaimTimes) {
  return (eb: ExpressionBuilder<Schema, 'storage_deletions'>) =>
    eb.or([eb('claim_time', 'is', null), eb('claim_time', '<', staleBefore)])
}

/** Ends deletions, since their contents are gone. */
export async function endStorageDeletion(db: Db, id: number): Promise<void> {
  await db.deleteFrom('storage_deletions').where('id', '=', id).execute()
}

/** Tries a deletion that has failed again at a time, in Unix seconds. */
export async function postponeStorageDeletion(db: Db, id: number, dueTime: number): Promise<void> {
  await db
    .updateTable('storage_deletions')
    .set((eb) => ({ due_time: dueTime, tries: eb('tries', '+', 1), claim_time: null }))
    .where('id', '=', id)
    .execute()
}

/**
 * Cancels the deletions of a content.
 *
 * @returns false if a server deletes the content at this moment.
 */
export async function cancelStorageDeletions(
  tx: Tx,
  { store, object_key }: Pick<StorageDeletion, 'store' | 'object_key'>,
  staleBefore: number,
): Promise<boolean> {
  const deleted = await tx
    .deleteFrom('storage_deletions')
    .where('object_key', '=', object_key)
    .where('store', '=', store)
    .returning('claim_time')
    .execute()
  return deleted.every(({ claim_time }) => claim_time === null || claim_time < staleBefore)
}

/**
 * Lets no deletion of a content begin before a time, in Unix seconds.
 *
 * @returns false if a server deletes the content at this moment.
 */
export async function postponeStorageDeletions(
  tx: Tx,
  { store, object_key }: Pick<StorageDeletion, 'store' | 'object_key'>,
  { staleBefore, dueTime }: { readonly staleBefore: number; readonly dueTime: number },
): Promise<boolean> {
  const postponed = await tx
    .updateTable('storage_deletions')
    .set((eb) => ({
      due_time: eb
        .case()
        .when('due_time', '<', dueTime)
        .then(dueTime)
        .else(eb.ref('due_time'))
        .end(),
    }))
    .where('object_key', '=', object_key)
    .where('store', '=', store)
    .returning('claim_time')
    .execute()
  return postponed.every(({ claim_time }) => claim_time === null || claim_time < staleBefore)
}

/** Deletes a content when the time comes. Returns the id of the deletion. */
export async function queueStorageDeletion(
  tx: Tx,
  deletion: Pick<StorageDeletion, 'store' | 'object_key' | 'due_time'>,
): Promise<number> {
  const { id } = await tx
    .insertInto('storage_deletions')
    .values(deletion)
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Moves a deletion to a time, in Unix seconds. @returns false if it is done, cancelled or a server's. */
export async function postponeUnclaimed(db: Db, id: number, dueTime: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('storage_deletions')
    .set({ due_time: dueTime })
    .where('id', '=', id)
    .where('claim_time', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns whether a release asset or an attachment has its content in a place. */
export async function isFileNeeded(
  db: Db,
  store: StorageDeletion['store'],
  { repositoryId, uuid }: FilePlace,
): Promise<boolean> {
  for (const table of ['release_assets', 'issue_attachments'] as const) {
    const row = await db
      .selectFrom(table)
      .select('id')
      .where('uuid', '=', uuid)
      .where('repository_id', '=', repositoryId)
      .where('store', '=', store)
      .executeTakeFirst()
    if (row) return true
  }
  return false
}

/** Returns the keys of deletions behind one, of contents whose keys begin with a prefix. */
export async function pageOfDeletions(
  db: Db,
  prefix: string,
  afterId: number,
  limit: number,
): Promise<StorageDeletion[]> {
  return db
    .selectFrom('storage_deletions')
    .selectAll()
    .where('id', '>', afterId)
    .where('object_key', 'like', `${prefix}%`)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Returns whether a content is to be deleted, now or later. */
export async function isStorageDeletionQueued(
  db: Db,
  store: StorageDeletion['store'],
  key: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('storage_deletions')
    .select('id')
    .where('object_key', '=', key)
    .where('store', '=', store)
    .executeTakeFirst()
  return row !== undefined
}

/** Forgets all deletions. */
export async function clearStorageDeletions(tx: Tx): Promise<void> {
  await tx.deleteFrom('storage_deletions').execute()
}
