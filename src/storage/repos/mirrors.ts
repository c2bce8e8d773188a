import { type DueQueue, dueQueue } from '../database/due-queue.ts'
import type { Mirror, MirrorChanges } from '../schema/repos.ts'
import type { Db, Tx } from '../schema/schema.ts'

/** What a synchronisation leaves behind. */
export type SyncResult = Pick<Mirror, 'error'> &
  Partial<Pick<Mirror, 'last_sync_time' | 'change_time'>>

/** The mirrors among repositories, by the id of the repository. */
export async function mirrorsOf(
  db: Db,
  repositoryIds: readonly number[],
): Promise<ReadonlyMap<number, Mirror>> {
  if (repositoryIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('mirrors')
    .selectAll()
    .where('repository_id', 'in', repositoryIds)
    .execute()
  return new Map(rows.map((row) => [row.repository_id, row]))
}

/** Stores that a repository follows another one. */
export async function insertMirror(tx: Tx, mirror: Mirror): Promise<void> {
  await tx.insertInto('mirrors').values(mirror).execute()
}

/** Changes how a mirror follows. */
export async function updateMirror(
  tx: Tx,
  repositoryId: number,
  changes: MirrorChanges,
): Promise<void> {
  if (Object.keys(changes).length === 0) return
  await tx.updateTable('mirrors').set(changes).where('repository_id', '=', repositoryId).execute()
}

/**
 * Makes a mirror due.
 *
 * @param now Unix milliseconds.
 */
export async function requestSync(tx: Tx, repositoryId: number, now: number): Promise<void> {
  await tx
    .updateTable('mirrors')
    .set((eb) => ({
      // Never what it was, so that the end of a synchronisation under way does not pass for the
      // answer to this request.
      next_sync_time: eb
        .case()
        .when('next_sync_time', '=', now)
        .then(eb.val(now + 1))
        .else(eb.val(now))
        .end(),
    }))
    .where('repository_id', '=', repositoryId)
    .execute()
}

/** Mirrors as they fall due, by the ids of their repositories. */
export function mirrorQueue(db: Db): DueQueue {
  const mirrors = db
    .selectFrom('mirrors')
    .innerJoin('repositories', 'repositories.id', 'mirrors.repository_id')
    .select([
      'repositories.id',
      'repositories.owner_id as ownerId',
      'mirrors.next_sync_time as dueTime',
    ])
  return dueQueue(db, mirrors)
}

/** How a repository follows another one; undefined when it does not. */
export async function findMirror(db: Db, repositoryId: number): Promise<Mirror | undefined> {
  return db
    .selectFrom('mirrors')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
}

/**
 * Stores what came of a synchronisation. One that was asked for meanwhile stays due.
 *
 * @param synced as it was when the synchronisation began.
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
    .where('next_sync_time', 'is', next_sync_time)
    .execute()
}
