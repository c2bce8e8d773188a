import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import {
  newDeliveryUid,
  queueMessage,
  requireQuota,
  webhooksWithinQuota,
} from '../../webhooks/outbox/waiting-deliveries.ts'
import * as rows from '../../webhooks/outbox/webhook-deliveries.rows.ts'
import { findUserWebhook } from '../../webhooks/registration/account-webhooks.rows.ts'
import type { UserWebhook, WebhookDelivery } from '../../webhooks/schema.ts'
import { isReadable } from '../memo-access.ts'
import type { MemoEvent, MemoView } from '../memo-view.ts'
import type { MemosApp } from '../ports.ts'
import { notifyUsers } from './notifications.ts'
import { recordMemoEvents } from './user-events.ts'

/**
 * Records everything that follows from a change of a memo, in the transaction of the change: user
 * events, notifications and webhook deliveries.
 *
 * The transaction must be one of `publishing`.
 */
export async function publishMemoEvent(app: MemosApp, tx: Tx, event: MemoEvent): Promise<void> {
  await recordMemoEvents(app, tx, event)
  await notifyUsers(app, tx, event)
  await queueDeliveries(app, tx, event)
}

/** Runs a change of memos that publishes events. Wakes the recipients after the commit. */
export async function publishing<T>(app: MemosApp, change: (tx: Tx) => Promise<T>): Promise<T> {
  const result = await transaction(app.db, change)
  app.signals.deliveries.notify()
  app.signals.events.notify()
  return result
}

/** Types of events that webhooks receive. */
type EventType = MemoEvent['type'] | 'memo.comment.created'

/** The name of each event in the compatible API. */
const ACTIVITY_TYPES: Readonly<Record<EventType, string>> = {
  'memo.created': 'memos.memo.created',
  'memo.updated': 'memos.memo.updated',
  'memo.deleted': 'memos.memo.deleted',
  'memo.comment.created': 'memos.memo.comment.created',
}

/**
 * Queues webhook deliveries for a change of a memo, in the transaction of the change: to the
 * webhooks of its creator and, for a new comment, to those of the creator of the memo commented on.
 *
 * The caller notifies `app.signals.deliveries` after the commit.
 */
export async function queueDeliveries(
  app: MemosApp,
  tx: Tx,
  { type, view, commentedOn, timeMs }: MemoEvent,
): Promise<void> {
  await queueMemo(app, tx, view.creator, { type, view, timeMs })
  if (type !== 'memo.created' || !commentedOn) return
  const { creator } = commentedOn
  // The creator of the memo commented on may no longer be allowed to read its tree.
  if (isReadable(view.memo, { userId: creator.id, publicOnly: false })) {
    await queueMemo(app, tx, creator, { type: 'memo.comment.created', view, timeMs })
  }
}

/**
 * Returns one page of a webhook's deliveries, newest first.
 *
 * @param beforeId the id of the last delivery of the previous page; undefined for the first page.
 */
export async function listWebhookDeliveries(
  app: MemosApp,
  webhook: UserWebhook,
  beforeId: number | undefined,
  pageSize: number,
): Promise<{ deliveries: readonly WebhookDelivery[]; more: boolean }> {
  const found = await rows.listDeliveries(app.db, webhook.id, beforeId, pageSize + 1)
  return { deliveries: found.slice(0, pageSize), more: found.length > pageSize }
}

/**
 * Schedules a delivery for now, with all its retries: again, or earlier than planned.
 *
 * @param names the resource names of the webhook and the delivery, for errors.
 */
export async function redeliver(
  app: MemosApp,
  webhook: UserWebhook,
  uid: string,
  names: { readonly webhook: string; readonly delivery: string },
): Promise<WebhookDelivery> {
  const now = app.clock.now()
  const found = await transaction(app.db, async (tx) => {
    const delivery = await rows.findDelivery(tx, webhook.id, uid)
    if (!delivery) throw new DomainError('WEBHOOK_DELIVERY_NOT_FOUND', { name: names.delivery })
    await requireEnabled(tx, webhook, names.webhook)
    if (delivery.next_attempt_time === null) await requireQuota(tx, webhook.id)
    await rows.requeueDelivery(tx, webhook.id, delivery.id, now)
    return delivery
  })
  app.signals.deliveries.notify()
  return { ...found, state: 'PENDING', failures: 0, next_attempt_time: now }
}

/**
 * Queues a delivery of type `test`.
 *
 * @param name the resource name of the webhook, for errors.
 */
export async function testWebhook(
  app: MemosApp,
  owner: User,
  webhook: UserWebhook,
  name: string,
): Promise<WebhookDelivery> {
  const now = app.clock.now()
  const body = { type: 'test', timestamp: new Date(now).toISOString(), creator: nameOf(owner) }
  const delivery = await transaction(app.db, async (tx) => {
    await requireEnabled(tx, webhook, name)
    await requireQuota(tx, webhook.id)
    const message = await rows.insertMessage(tx, {
      event_type: body.type,
      body: JSON.stringify(body),
      create_time: now,
    })
    return rows.insertDelivery(tx, webhook.id, message, newDeliveryUid(), now)
  })
  app.signals.deliveries.notify()
  return delivery
}

/** A memo event for the webhooks of one user. */
interface MemoMessage {
  readonly type: EventType
  readonly view: MemoView
  readonly timeMs: number
}

async function queueMemo(
  app: MemosApp,
  tx: Tx,
  owner: Pick<User, 'id' | 'state'>,
  { type, view, timeMs }: MemoMessage,
) {
  if (owner.state !== 'NORMAL') return
  const webhookIds = await webhooksWithinQuota(tx, await rows.listEnabledWebhooks(tx, owner.id))
  if (webhookIds.length === 0) return
  const message = await rows.insertMessage(tx, {
    event_type: type,
    // The memo at the time of the event. Retries send the same body, even after later changes.
    body: JSON.stringify({
      type,
      timestamp: new Date(timeMs).toISOString(),
      activityType: ACTIVITY_TYPES[type],
      creator: nameOf(view.creator),
      memo: JSON.parse(app.payloads.memo(view)),
    }),
    create_time: timeMs,
  })
  await queueMessage(tx, webhookIds, message, app.clock.now())
}

/** Checks that a webhook, which was read before the transaction, still exists and is enabled. */
async function requireEnabled(tx: Tx, { user_id, uid }: UserWebhook, name: string): Promise<void> {
  const present = await findUserWebhook(tx, user_id, uid)
  if (!present) throw new DomainError('WEBHOOK_NOT_FOUND', { name })
  if (present.disabled) throw new DomainError('WEBHOOK_DISABLED', { name })
}

function nameOf(user: Pick<User, 'user_id' | 'username'>): string {
  return `users/${user.user_id ?? user.username}`
}
