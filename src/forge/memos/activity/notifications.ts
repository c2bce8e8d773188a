import { transaction } from '../../../platform/database/database.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { type Condition, readFilter } from '../../../platform/filters/conditions.ts'
import { choiceField, type FilterSchema } from '../../../platform/filters/schema.ts'
import { searchBounds, searchInSteps } from '../../../platform/filters/steps.ts'
import { timeRangeOf } from '../../../platform/filters/times.ts'
import type { AccountsApp } from '../../accounts/ports.ts'
import { accountField } from '../../accounts/users/user-fields.ts'
import {
  findActiveUsersByUsernameKeys,
  findUserIdsByNameKeys,
  findUsersByIds,
} from '../../accounts/users/users.rows.ts'
import { nowSeconds } from '../../core/core.ts'
import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import { analyzeMemo } from '../content/content.ts'
import { isReadable, type MemoAccess } from '../memo-access.ts'
import type { MemoEvent } from '../memo-view.ts'
import type { Memo, Notification, NotificationStatus, NotificationType } from '../schema.ts'
import type { NotificationTerm } from './notifications.rows.ts'
import * as rows from './notifications.rows.ts'
import { recordUserEvent, type UserEventType } from './user-events.ts'

/** A notification with the content that its receiver may read. */
export interface NotificationView {
  readonly notification: Notification
  readonly sender: User
  /** The subject of the notification; undefined when the receiver may no longer read it. */
  readonly payload: NotificationPayload | undefined
}

interface NotificationPayload {
  /** The comment, or the memo or comment that contains the mention. */
  readonly memo: ShownMemo
  /** The memo commented on; undefined for a mention in a memo that is not a comment. */
  readonly relatedMemo: ShownMemo | undefined
}

type ShownMemo = Pick<Memo, 'uid' | 'snippet'>

/**
 * Creates the notifications for a change of a memo, in its transaction: for the creator of the memo
 * that a new comment belongs to, and for the users that the content newly mentions.
 *
 * Receivers are active accounts other than the author, and may read the memo and the memo that it
 * comments on. A receiver of a comment gets no second notification for a mention in it.
 */
export async function notifyUsers(app: AccountsApp, tx: Tx, event: MemoEvent): Promise<void> {
  if (event.type === 'memo.deleted') return
  const { memo } = event.view
  const commenters = commentReceivers(event)
  const mentioned = await mentionedUsers(tx, event)
  if (commenters.length + mentioned.length === 0) return
  const parent = event.commentedOn?.memo ?? (await parentOf(tx, memo))
  const canRead = ({ id }: Pick<User, 'id'>) => canReadBoth(id, memo, parent)
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
 * Returns the notifications of an account after a position, newest first. With selective terms, a
 * page can have fewer notifications than requested, or none, without being the last page.
 *
 * @param terms as `readNotificationFilter` returns them.
 * @returns the notifications, and the position where the next page starts; undefined on the last
 *   page.
 */
export async function listNotifications(
  app: AccountsApp,
  receiver: User,
  terms: readonly rows.NotificationTerm[],
  after: rows.NotificationPosition | undefined,
  limit: number,
): Promise<{ notifications: NotificationView[]; next: rows.NotificationPosition | undefined }> {
  const { min, max } = timeRangeOf(terms.filter((term) => term.kind === 'create_time'))
  // The scan starts at the newest time that the terms allow, and skips the notifications that are
  // too old.
  const newest = max === undefined ? undefined : { createTime: max, id: Number.MAX_SAFE_INTEGER }
  const scan = async (position: rows.NotificationPosition | undefined, rowCount: number) => {
    const scanned = await rows.scanNotifications(app.db, receiver.id, terms, position, rowCount)
    return scanned
      .filter(({ create_time }) => min === undefined || create_time >= min)
      .map((row) => ({ ...row, position: { createTime: row.create_time, id: row.id } }))
  }
  const { found, next } = await searchInSteps(
    searchBounds(terms.length),
    limit,
    after ?? newest,
    scan,
  )
  return { notifications: await viewsOf(app.db, receiver, found), next }
}

/**
 * Returns a notification of an account, or undefined when the account has none with this number.
 */
export async function findNotification(
  app: AccountsApp,
  receiver: User,
  id: number,
): Promise<NotificationView | undefined> {
  const found = await rows.findNotification(app.db, receiver.id, id)
  return found && (await viewOf(app.db, receiver, found))
}

/** Returns those of the given notifications that an account has, by number. */
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
 * Changes the status of a notification.
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

/**
 * Deletes a notification.
 *
 * @returns whether the account had a notification with this number.
 */
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

function commentReceivers({ commentedOn }: MemoEvent): Pick<User, 'id'>[] {
  return commentedOn?.creator.state === 'NORMAL' ? [commentedOn.creator] : []
}

/** Returns the active accounts that the content mentions and the previous content did not. */
async function mentionedUsers(tx: Tx, { view, previousContent }: MemoEvent): Promise<User[]> {
  if (view.memo.content === previousContent) return []
  const before = new Set(mentionKeys(previousContent ?? ''))
  const keys = new Set(mentionKeys(view.memo.content).filter((key) => !before.has(key)))
  if (keys.size === 0) return []
  const found = await findActiveUsersByUsernameKeys(tx, [...keys])
  // A mention refers to a username. The text may also be the chosen id of another account.
  return found.filter((user) => keys.has(nameKey(user.username)))
}

function mentionKeys(content: string): string[] {
  // Parsing Markdown takes time, and most memos contain no mention.
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

/** Returns the views of notifications for their receiver, with three queries in total. */
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
    // The sender may have been deleted, with the notification, after the notification was read.
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

/** A term of the filter, with the sender by name. */
type WrittenTerm =
  | Exclude<NotificationTerm, { kind: 'sender' }>
  | { readonly kind: 'sender'; readonly keys: readonly string[] }

const STATUSES: readonly NotificationStatus[] = ['UNREAD', 'ARCHIVED']
const TYPES: readonly NotificationType[] = ['MEMO_COMMENT', 'MEMO_MENTION']

const NOTIFICATION_FILTER: FilterSchema<WrittenTerm> = {
  logic: ['and'],
  fields: {
    status: choiceField(STATUSES, ['=', '!='], (among) => ({ kind: 'status', among })),
    type: choiceField(TYPES, ['=', '!='], (among) => ({ kind: 'type', among })),
    sender: accountField(['='], (keys) => ({ kind: 'sender', keys })),
    create_time: {
      type: 'time',
      term: (operator, seconds) => ({ kind: 'create_time', operator, seconds }),
    },
  },
}

/**
 * Parses the filter of ListUserNotifications, as the proto file describes it. A sender that does
 * not exist matches no notification.
 *
 * @returns the terms that a notification must meet, all of them; empty for a blank filter.
 */
export async function readNotificationFilter(
  app: AccountsApp,
  filter: string,
): Promise<NotificationTerm[]> {
  const condition = readFilter(filter, NOTIFICATION_FILTER, nowSeconds(app.clock))
  const written = condition ? conjuncts(condition) : []
  const ids = await findUserIdsByNameKeys(
    app.db,
    written.flatMap((term) => (term.kind === 'sender' ? term.keys : [])),
  )
  return written.map((term) => {
    if (term.kind !== 'sender') return term
    return { kind: 'sender', ids: term.keys.flatMap((key) => ids.get(key) ?? []) }
  })
}

/** Returns the terms of a condition without `or`, and complements negated terms. */
function conjuncts(condition: Condition<WrittenTerm>): WrittenTerm[] {
  if (condition.kind === 'term') return [condition.term]
  if (condition.kind === 'not') return conjuncts(condition.condition).map(complement)
  return condition.conditions.flatMap(conjuncts)
}

function complement(term: WrittenTerm): WrittenTerm {
  switch (term.kind) {
    case 'status':
      return { kind: 'status', among: STATUSES.filter((status) => !term.among.includes(status)) }
    case 'type':
      return { kind: 'type', among: TYPES.filter((type) => !term.among.includes(type)) }
    default:
      throw new Error(`a filter of notifications cannot negate ${term.kind}`)
  }
}
