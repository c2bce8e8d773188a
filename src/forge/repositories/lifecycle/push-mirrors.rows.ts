import { type ExpressionBuilder, sql } from 'kysely'
import { type DueQueue, dueQueue } from '../../../platform/database/due-queue.ts'
import type { Db, Schema, Tx } from '../../../platform/database/schema.ts'
import type { NewPushMirror, PushMirror } from '../schema.ts'

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
