import { type DueQueue, dueQueue } from '../../../platform/database/due-queue.ts'
import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { Mirror, MirrorChanges } from '../schema.ts'

/** The result of a synchronisation. */
export type SyncResult = Pick<Mirror, 'error'> &
  Partial<Pick<Mirror, 'last_sync_time' | 'change_time'>>

/** Returns the mirrors among repositories, by repository id. */
export async function mirrorsOf(
  db: Db,
  repositoryIds: readonly number[],
): Promise<ReadonlyMap<number, Mirror>> {
  if (repositoryIds.length === 0) return new Map()
  const rows = await mirrorsByIds(db, JSON.stringify(repositoryIds))
  return new Map(rows.map((row) => [row.repository_id, row]))
}

const mirrorsByIds = prepareQuery((db, ids: string) =>
  db.selectFrom('mirrors').selectAll().where('repository_id', 'in', numbersOf(ids)),
)

/** Inserts a mirror. */
export async function insertMirror(tx: Tx, mirror: Mirror): Promise<void> {
  await tx.insertInto('mirrors').values(mirror).execute()
}

/** Updates the settings of a mirror. */
export async function updateMirror(
  tx: Tx,
  repositoryId: number,
  changes: MirrorChanges,
): Promise<void> {
  if (Object.keys(changes).length === 0) return
  await tx.updateTable('mirrors').set(changes).where('repository_id', '=', repositoryId).execute()
}

/**
 * Requests a synchronisation.
 *
 * @param now Unix milliseconds.
 */
export async function requestSync(tx: Tx, repositoryId: number, now: number): Promise<void> {
  await tx
    .updateTable('mirrors')
    .set((eb) => ({
      // Always a new value, so that the end of a running synchronisation does not clear this
      // request.
      next_sync_time: eb
        .case()
        .when('next_sync_time', '=', now)
        .then(eb('next_sync_time', '+', 1))
        .else(now)
        .end(),
    }))
    .where('repository_id', '=', repositoryId)
    .execute()
}

/** The queue of due mirrors, by repository id. */
export function mirrorQueue(db: Db): DueQueue {
  const mirrors = db
    .selectFrom('mirrors')
    .innerJoin('repositories', 'repositories.id', 'mirrors.repository_id')
    .select([
      'mirrors.repository_id as id',
      'repositories.owner_id as ownerId',
      'mirrors.next_sync_time as dueTime',
    ])
  return dueQueue(db, mirrors)
}

/** Returns the mirror settings of a repository, if there are any. */
export async function findMirror(db: Db, repositoryId: number): Promise<Mirror | undefined> {
  return db
    .selectFrom('mirrors')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
}

/**
 * Stores the result of a synchronisation. A request made meanwhile stays due.
 *
 * @param synced the mirror at the start of the synchronisation
 * @param nextSyncTime Unix milliseconds; null for none.
 */
export async function recordSync(
  tx: Tx,
  { repository_id, next_sync_time }: Mirror,
  result: SyncResult,
  nextSyncTime: number | null,
): Promise<void> {
  await tx.updateTable('mirrors').set(result).where('repository_id', '=', repository_id).execute()
  await tx
    .updateTable('mirrors')
    .set({ next_sync_time: nextSyncTime })
    .where('repository_id', '=', repository_id)
    .where('next_sync_time', 'is not distinct from', next_sync_time)
    .execute()
}
