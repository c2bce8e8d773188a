import type { Insertable } from 'kysely'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import type { StoredView, ViewOwner } from './query/schema.ts'

/** Returns all views of an owner, by position. */
export function listViews(db: Db, owner: ViewOwner): Promise<StoredView[]> {
  return db
    .selectFrom('issue_views')
    .selectAll()
    .where((eb) =>
      owner.repository_id === null
        ? eb('user_id', '=', owner.user_id)
        : eb('repository_id', '=', owner.repository_id),
    )
    .orderBy('position')
    .execute()
}

export function findView(db: Db, id: number): Promise<StoredView | undefined> {
  return db.selectFrom('issue_views').selectAll().where('id', '=', id).executeTakeFirst()
}

export function insertView(tx: Tx, view: Insertable<Schema['issue_views']>): Promise<StoredView> {
  return tx.insertInto('issue_views').values(view).returningAll().executeTakeFirstOrThrow()
}

export function updateView(
  tx: Tx,
  id: number,
  changes: Pick<StoredView, 'name' | 'query' | 'update_time'>,
): Promise<StoredView> {
  return tx
    .updateTable('issue_views')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteView(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('issue_views').where('id', '=', id).execute()
}

/** Stores an order of all views of an owner, where it differs from the present one. */
export async function storePositions(tx: Tx, views: readonly StoredView[]): Promise<void> {
  for (const [i, { id, position }] of views.entries())
    if (position !== i + 1)
      await tx
        .updateTable('issue_views')
        .set({ position: i + 1 })
        .where('id', '=', id)
        .execute()
}
