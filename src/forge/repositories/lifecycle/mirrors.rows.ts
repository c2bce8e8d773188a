import { type ExpressionBuilder, sql } from 'kysely'
import { type DueQueue, dueQueue } from '../../../platform/database/due-queue.ts'
import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../../platform/database/schema.ts'
import type { Mirror, MirrorChanges, NewPushMirror, PushMirror } from '../schema.ts'

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

/** The result of a push. */
export type PushResult = Pick<PushMirror, 'error'> & Partial<Pick<PushMirror, 'last_sync_time'>>

/** Returns the push mirrors of a repository, oldest first. */
export function listPushMirrors(
  db: Db,
  repositoryId: number,
  offset: number,
  limit: number,
): Promise<PushMirror[]> {
  return db
    .selectFrom('push_mirrors')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countPushMirrors(db: Db, repositoryId: number): Promise<number> {
  const { count } = await db
    .selectFrom('push_mirrors')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return count
}

export function findPushMirror(
  db: Db,
  repositoryId: number,
  remoteName: string,
): Promise<PushMirror | undefined> {
  return db
    .selectFrom('push_mirrors')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('remote_name', '=', remoteName)
    .executeTakeFirst()
}

export function findPushMirrorById(db: Db, id: number): Promise<PushMirror | undefined> {
  return db.selectFrom('push_mirrors').selectAll().where('id', '=', id).executeTakeFirst()
}

export function insertPushMirror(tx: Tx, mirror: NewPushMirror): Promise<PushMirror> {
  return tx.insertInto('push_mirrors').values(mirror).returningAll().executeTakeFirstOrThrow()
}

export async function deletePushMirror(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('push_mirrors').where('id', '=', id).execute()
}

/**
 * Requests a push to the mirrors of a repository. A mirror whose last push failed rests, whatever
 * changes, until its push is due again.
 *
 * @param only the mirrors that are pushed to after changes, or all.
 * @param now Unix milliseconds.
 */
export async function requestPushes(
  tx: Tx,
  repositoryId: number,
  only: 'after changes' | 'all',
  now: number,
): Promise<void> {
  await tx
    .updateTable('push_mirrors')
    .set((eb) => ({ next_sync_time: requestTime(eb, now) }))
    .where('repository_id', '=', repositoryId)
    .$if(only === 'after changes', (query) =>
      query
        .where('sync_on_commit', '=', sql.lit(1))
        .where((eb) => eb.or([eb('error', '=', ''), eb('next_sync_time', 'is', null)])),
    )
    .execute()
}

/** Always a new value, so that the end of a running push does not clear the request. */
function requestTime(eb: ExpressionBuilder<Schema, 'push_mirrors'>, now: number) {
  return eb
    .case()
    .when('next_sync_time', '=', now)
    .then(eb('next_sync_time', '+', 1))
    .else(now)
    .end()
}

/** The queue of due pushes, by id of the mirror. */
export function pushMirrorQueue(db: Db): DueQueue {
  const mirrors = db
    .selectFrom('push_mirrors')
    .innerJoin('repositories', 'repositories.id', 'push_mirrors.repository_id')
    .select([
      'push_mirrors.id',
      'repositories.owner_id as ownerId',
      'push_mirrors.next_sync_time as dueTime',
    ])
  return dueQueue(db, mirrors)
}

/**
 * Stores the result of a push. A request made meanwhile stays due.
 *
 * @param pushed the mirror at the start of the push.
 * @param nextSyncTime Unix milliseconds; null for none.
 */
export async function recordPush(
  tx: Tx,
  { id, next_sync_time }: PushMirror,
  result: PushResult,
  nextSyncTime: number | null,
): Promise<void> {
  await tx.updateTable('push_mirrors').set(result).where('id', '=', id).execute()
  await tx
    .updateTable('push_mirrors')
    .set({ next_sync_time: nextSyncTime })
    .where('id', '=', id)
    .where('next_sync_time', 'is not distinct from', next_sync_time)
    .execute()
}
