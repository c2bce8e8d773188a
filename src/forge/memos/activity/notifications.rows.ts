import { type Expression, type ExpressionBuilder, type Insertable, type SqlBool, sql } from 'kysely'
import type { Db, Schema, Tx } from '../../../platform/database/schema.ts'
import { type RootedMemo, selectRootedMemos } from '../memos.rows.ts'
import type {
  Notification,
  NotificationStatus,
  NotificationsTable,
  NotificationType,
} from '../schema.ts'

/** One term of a filter. */
export type NotificationTerm =
  | { readonly kind: 'status'; readonly among: readonly NotificationStatus[] }
  | { readonly kind: 'type'; readonly among: readonly NotificationType[] }
  | { readonly kind: 'sender'; readonly ids: readonly number[] }
  | {
      readonly kind: 'create_time'
      readonly operator: '=' | '!=' | '<' | '<=' | '>' | '>='
      /** Unix seconds, possibly a fraction. */
      readonly seconds: number
    }

/** A position in the list of notifications: the sort key of a notification. */
export interface NotificationPosition {
  readonly createTime: number
  readonly id: number
}

/** What a notification shows of a memo, and what decides whether its receiver may read the memo. */
export type MemoSummary = Pick<
  RootedMemo,
  | 'id'
  | 'uid'
  | 'parent_id'
  | 'snippet'
  | 'creator_id'
  | 'state'
  | 'visibility'
  | 'root_creator_id'
  | 'root_state'
>

/**
 * Stores notifications.
 *
 * @returns the stored notifications, in no particular order.
 */
export async function insertNotifications(
  tx: Tx,
  notifications: readonly Insertable<NotificationsTable>[],
): Promise<Notification[]> {
  if (notifications.length === 0) return []
  return tx.insertInto('notifications').values(notifications).returningAll().execute()
}

/**
 * Returns notifications of a receiver after a position, newest first, then by descending id, and
 * whether each meets all terms. The limit bounds the cost, even when few notifications meet the
 * terms. A term for one status uses an index, so notifications with another status are left out.
 */
export async function scanNotifications(
  db: Db,
  receiverId: number,
  terms: readonly NotificationTerm[],
  after: NotificationPosition | undefined,
  limit: number,
): Promise<(Notification & { readonly meets: boolean })[]> {
  const status = terms.find((term) => term.kind === 'status' && term.among.length === 1)
  const others = terms.filter((term) => term !== status)
  let query = db
    .selectFrom('notifications')
    .selectAll()
    .select((eb) => sql<number>`${eb.and(others.map((term) => termSql(eb, term)))}`.as('meets'))
    .where('receiver_id', '=', receiverId)
  if (status) query = query.where((eb) => termSql(eb, status))
  if (after) {
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('create_time', 'id'), '<', tuple(after.createTime, after.id)),
    )
  }
  const found = await query
    .orderBy('create_time', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return found.map((row) => ({ ...row, meets: row.meets === 1 }))
}

export function findNotification(
  db: Db,
  receiverId: number,
  id: number,
): Promise<Notification | undefined> {
  return db
    .selectFrom('notifications')
    .selectAll()
    .where('id', '=', id)
    .where('receiver_id', '=', receiverId)
    .executeTakeFirst()
}

/** Returns those of the given notifications that a receiver has, in no particular order. */
export async function findNotifications(
  db: Db,
  receiverId: number,
  ids: readonly number[],
): Promise<Notification[]> {
  if (ids.length === 0) return []
  return db
    .selectFrom('notifications')
    .selectAll()
    .where('id', 'in', ids)
    .where('receiver_id', '=', receiverId)
    .execute()
}

export async function setNotificationStatus(
  tx: Tx,
  id: number,
  status: NotificationStatus,
): Promise<void> {
  await tx.updateTable('notifications').set({ status }).where('id', '=', id).execute()
}

/**
 * Deletes a notification.
 *
 * @returns whether the receiver had a notification with this id.
 */
export async function deleteNotification(tx: Tx, receiverId: number, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('notifications')
    .where('id', '=', id)
    .where('receiver_id', '=', receiverId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Returns the memos with these ids, by id. */
export async function findMemoSummaries(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, MemoSummary>> {
  if (ids.length === 0) return new Map()
  const found = await selectRootedMemos(db)
    // Without the content, which may be long.
    .clearSelect()
    .select(['memos.id', 'memos.uid', 'memos.parent_id', 'memos.snippet'])
    .select(['memos.creator_id', 'memos.state', 'memos.visibility'])
    .select(['root.creator_id as root_creator_id', 'root.state as root_state'])
    .where('memos.id', 'in', ids)
    .execute()
  return new Map(found.map((memo) => [memo.id, memo]))
}

function termSql(
  eb: ExpressionBuilder<Schema, 'notifications'>,
  term: NotificationTerm,
): Expression<SqlBool> {
  switch (term.kind) {
    // Alternatives rather than a list, because SQL has no empty lists.
    case 'status':
      return eb.or(term.among.map((status) => eb('status', '=', status)))
    case 'type':
      return eb.or(term.among.map((type) => eb('type', '=', type)))
    case 'sender':
      return eb.or(term.ids.map((id) => eb('sender_id', '=', id)))
    case 'create_time':
      return eb('create_time', term.operator, term.seconds)
  }
}
