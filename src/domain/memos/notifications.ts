import { findActiveUsersByUsernameKeys, findUsersByIds } from '../../storage/accounts/users.ts'
import { transaction } from '../../storage/database/database.ts'
import * as rows from '../../storage/memos/notifications.ts'
import type { User } from '../../storage/schema/accounts.ts'
import type {
  Memo,
  Notification,
  NotificationStatus as NotificationStatusRow,
  NotificationType,
} from '../../storage/schema/memos.ts'
import type { Db, Tx } from '../../storage/schema/schema.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { nameKey } from '../core/names.ts'
import { searchBounds, searchInSteps } from '../filters/steps.ts'
import { timeRangeOf } from '../filters/time-range.ts'
import { analyzeMemo } from './content.ts'
import { isReadable, type MemoAccess } from './memo-access.ts'
import type { MemoEvent } from './memo-view.ts'
import { recordUserEvent, type UserEventType } from './user-events.ts'

export type NotificationStatus = NotificationStatusRow

/** A notification with what its receiver may see of what it is about. */
export interface NotificationView {
  readonly notification: Notification
  readonly sender: User
  /** What happened where; undefined when the receiver cannot see that any more. */
  readonly payload: NotificationPayload | undefined
}

export interface NotificationPayload {
  /** The comment, or the memo or comment with the mention. */
  readonly memo: ShownMemo
  /** The memo that was commented on; undefined for a mention in a memo that is no comment. */
  readonly relatedMemo: ShownMemo | undefined
}

type ShownMemo = Pick<Memo, 'uid' | 'snippet'>

/**
 * Notifies those whom a change of a memo concerns, in its transaction: of a new comment the creator
 * of the memo commented on, and of mentions that the content did not have before those who are
 * mentioned.
 *
 * Each of them is an active account other than the author that can read the memo, and the memo that
 * it comments on. Who is told of a comment is not told that it mentions them too.
 */
export async function notifyOf(app: AccountsApp, tx: Tx, event: MemoEvent): Promise<void> {
  if (event.type === 'memo.deleted') return
  const { memo } = event.view
  const commenters = commentReceivers(event)
  const mentioned = await mentionedUsers(tx, event)
  if (commenters.length + mentioned.length === 0) return
  const parent = event.commentedOn?.memo ?? (await parentOf(tx, memo))
  const canRead = ({ id }: User) => canReadBoth(id, memo, parent)
  const receivers = new Map<number, NotificationType>()
  for (const user of mentioned.filter(canRead)) receivers.set(user.id, 'MEMO_MENTION')
  for (const user of commenters.filter(canRead)) receivers.set(user.id, 'MEMO_COMMENT')
  receivers.delete(memo.creator_id)
  const made = await rows.insertNotifications(
    tx,
    [...receivers].map(([receiver_id, type]) => ({
      receiver_id,
      sender_id: memo.creator_id,
      type,
      status: 'UNREAD',
      memo_id: memo.id,
      create_time: Math.floor(event.timeMs / 1000),
    })),
  )
  for (const notification of made) await record(app, tx, 'NOTIFICATION_CREATED', notification)
}

/**
 * Notifications of an account behind a position, newest first. Where few of very many meet the
 * terms, the page may have fewer than asked for, or none, and not be the last.
 *
 * @param terms as `readNotificationFilter` gives them.
 * @returns the notifications, and where the next page starts, undefined on the last one.
 */
export async function listNotifications(
  app: AccountsApp,
  receiver: User,
  terms: readonly rows.NotificationTerm[],
  after: rows.NotificationPosition | undefined,
  limit: number,
): Promise<{ notifications: NotificationView[]; next: rows.NotificationPosition | undefined }> {
  const { min, max } = timeRangeOf(terms.filter((term) => term.kind === 'create_time'))
  // The list begins behind what is too new, and ends before what is too old.
  const newest = max === undefined ? undefined : { createTime: max, id: Number.MAX_SAFE_INTEGER }
  const scan = async (place: rows.NotificationPosition | undefined, rowCount: number) => {
    const scanned = await rows.scanNotifications(app.db, receiver.id, terms, place, rowCount)
    return scanned
      .filter(({ create_time }) => min === undefined || create_time >= min)
      .map((row) => ({ ...row, place: { createTime: row.create_time, id: row.id } }))
  }
  const { found, next } = await searchInSteps(
    searchBounds(terms.length),
    limit,
    after ?? newest,
    scan,
  )
  return { notifications: await viewsOf(app.db, receiver, found), next }
}

/** A notification of an account; undefined when it has none with this number. */
export async function findNotification(
  app: AccountsApp,
  receiver: User,
  id: number,
): Promise<NotificationView | undefined> {
  const found = await rows.findNotification(app.db, receiver.id, id)
  return found && (await viewOf(app.db, receiver, found))
}

/** Those of some notifications that an account has, by number. */
export async function findNotifications(
  app: AccountsApp,
  receiver: User,
  ids: readonly number[],
): Promise<ReadonlyMap<number, NotificationView>> {
  const views = await viewsOf(
    app.db,
    receiver,
    await rows.findNotifications(app.db, receiver.id, ids),
  )
  return new Map(views.map((view) => [view.notification.id, view]))
}

/**
 * Changes whether the receiver has dealt with a notification.
 *
 * @returns the notification after the change; undefined when the account has none with this number.
 */
export async function setNotificationStatus(
  app: AccountsApp,
  receiver: User,
  id: number,
  status: NotificationStatus,
): Promise<NotificationView | undefined> {
  const changed = await transaction(app.db, async (tx) => {
    const present = await rows.findNotification(tx, receiver.id, id)
    if (!present || present.status === status) return present
    await rows.setNotificationStatus(tx, id, status)
    await record(app, tx, 'NOTIFICATION_UPDATED', present)
    return { ...present, status }
  })
  app.signals.events.notify()
  return changed && viewOf(app.db, receiver, changed)
}

/** @returns whether the account had a notification with this number. */
export async function deleteNotification(
  app: AccountsApp,
  receiver: User,
  id: number,
): Promise<boolean> {
  const deleted = await transaction(app.db, async (tx) => {
    const existed = await rows.deleteNotification(tx, receiver.id, id)
    if (existed) await record(app, tx, 'NOTIFICATION_DELETED', { id, receiver_id: receiver.id })
    return existed
  })
  app.signals.events.notify()
  return deleted
}

function record(
  app: AccountsApp,
  tx: Tx,
  type: UserEventType,
  { id, receiver_id }: Pick<Notification, 'id' | 'receiver_id'>,
): Promise<void> {
  return recordUserEvent(app, tx, receiver_id, type, String(id))
}

function commentReceivers({ commentedOn }: MemoEvent): User[] {
  return commentedOn?.creator.state === 'NORMAL' ? [commentedOn.creator] : []
}

/**
 * The active accounts that the content mentions and did not mention before, of as many names as
 * `analyzeMemo` gives.
 */
async function mentionedUsers(tx: Tx, { view, previousContent }: MemoEvent): Promise<User[]> {
  if (view.memo.content === previousContent) return []
  const before = new Set(mentionKeys(previousContent ?? ''))
  const keys = new Set(mentionKeys(view.memo.content).filter((key) => !before.has(key)))
  if (keys.size === 0) return []
  const found = await findActiveUsersByUsernameKeys(tx, [...keys])
  // A mention goes by the username. The same text may be the chosen id of somebody else's account.
  return found.filter((user) => keys.has(nameKey(user.username)))
}

function mentionKeys(content: string): string[] {
  // Reading Markdown takes a while, and most memos mention nobody.
  return content.includes('@') ? analyzeMemo(content).mentions.map(nameKey) : []
}

async function parentOf(
  db: Db,
  { parent_id }: Pick<Memo, 'parent_id'>,
): Promise<MemoAccess | undefined> {
  return parent_id === null
    ? undefined
    : (await rows.findMemoSummaries(db, [parent_id])).get(parent_id)
}

function canReadBoth(userId: number, memo: MemoAccess, parent: MemoAccess | undefined): boolean {
  const reader = { userId, publicOnly: false }
  return isReadable(memo, reader) && (parent === undefined || isReadable(parent, reader))
}

async function viewOf(
  db: Db,
  receiver: User,
  notification: Notification,
): Promise<NotificationView | undefined> {
  return (await viewsOf(db, receiver, [notification]))[0]
}

/** What the receiver sees of some notifications, in three queries however many they are. */
async function viewsOf(
  db: Db,
  receiver: User,
  notifications: readonly Notification[],
): Promise<NotificationView[]> {
  const senders = await findUsersByIds(
    db,
    distinct(notifications.map(({ sender_id }) => sender_id)),
  )
  const memos = await rows.findMemoSummaries(
    db,
    distinct(notifications.map(({ memo_id }) => memo_id)),
  )
  const parents = await rows.findMemoSummaries(
    db,
    distinct([...memos.values()].map(({ parent_id }) => parent_id)),
  )
  return notifications.flatMap((notification) => {
    const sender = senders.get(notification.sender_id)
    const memo = memos.get(notification.memo_id ?? 0)
    const parent = parents.get(memo?.parent_id ?? 0)
    // The sender may have gone, and the notification with them, since it was read.
    return sender
      ? [{ notification, sender, payload: payloadOf(receiver, notification.type, memo, parent) }]
      : []
  })
}

function payloadOf(
  receiver: User,
  type: NotificationType,
  memo: rows.MemoSummary | undefined,
  parent: rows.MemoSummary | undefined,
): NotificationPayload | undefined {
  const reader = { userId: receiver.id, publicOnly: false }
  if (!memo || !isReadable(memo, reader)) return undefined
  const relatedMemo = parent && isReadable(parent, reader) ? parent : undefined
  return type === 'MEMO_COMMENT' && !relatedMemo ? undefined : { memo, relatedMemo }
}

function distinct(ids: readonly (number | null)[]): number[] {
  return [...new Set(ids)].filter((id) => id !== null)
}
