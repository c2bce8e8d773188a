import { transaction } from '../../storage/database/database.ts'
import type { User } from '../../storage/schema/accounts.ts'
import type { Tx } from '../../storage/schema/schema.ts'
import type { WebhookDelivery as WebhookDeliveryRow } from '../../storage/schema/webhooks.ts'
import { findUserWebhook } from '../../storage/webhooks/user-webhooks.ts'
import * as rows from '../../storage/webhooks/webhook-deliveries.ts'
import { DomainError } from '../core/errors.ts'
import type { UserWebhook } from '../webhooks/user-webhooks.ts'
import {
  newDeliveryUid,
  queueMessage,
  requireRoom,
  webhooksWithRoom,
} from '../webhooks/waiting-deliveries.ts'
import { isReadable } from './memo-access.ts'
import type { MemoEvent, MemoView } from './memo-view.ts'
import type { MemosApp } from './ports.ts'

export type WebhookDelivery = WebhookDeliveryRow

/** What webhooks are told of. */
type EventType = MemoEvent['type'] | 'memo.comment.created'

/** The name of each event in the API that this one is compatible with. */
const ACTIVITY_TYPES: Readonly<Record<EventType, string>> = {
  'memo.created': 'memos.memo.created',
  'memo.updated': 'memos.memo.updated',
  'memo.deleted': 'memos.memo.deleted',
  'memo.comment.created': 'memos.memo.comment.created',
}

/**
 * Queues what a change of a memo has to say to webhooks, in its transaction: to those of its
 * creator, and of a new comment to those of whoever wrote the memo that it comments on.
 *
 * The caller gives `app.signals.deliveries` after the commit.
 */
export async function queueDeliveries(
  app: MemosApp,
  tx: Tx,
  { type, view, commentedOn, timeMs }: MemoEvent,
): Promise<void> {
  await queueMemo(app, tx, view.creator, { type, view, timeMs })
  if (type !== 'memo.created' || !commentedOn) return
  const { creator } = commentedOn
  // Whoever wrote a comment may have lost sight of its tree since.
  if (isReadable(view.memo, { userId: creator.id, publicOnly: false })) {
    await queueMemo(app, tx, creator, { type: 'memo.comment.created', view, timeMs })
  }
}

/**
 * One page of a webhook's deliveries, newest first.
 *
 * @param beforeId the last one of the page before; undefined for the first page.
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
 * Queues a delivery to be made now, again, or earlier than it would be, with all retries before it.
 *
 * @param names what errors call the webhook and the delivery.
 * @throws WEBHOOK_DISABLED, WEBHOOK_DELIVERY_NOT_FOUND; RATE_LIMITED when too much waits already.
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
    if (delivery.next_attempt_time === null) await requireRoom(tx, webhook.id)
    await rows.requeueDelivery(tx, webhook.id, delivery.id, now)
    return delivery
  })
  app.signals.deliveries.notify()
  return { ...found, state: 'PENDING', failures: 0, next_attempt_time: now }
}

/**
 * Queues a delivery of the type `test`.
 *
 * @param name what an error calls the webhook.
 * @throws WEBHOOK_NOT_FOUND, WEBHOOK_DISABLED; RATE_LIMITED when too much waits already.
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
    await requireRoom(tx, webhook.id)
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

/** The event of a memo that a webhook receives. */
interface MemoMessage {
  readonly type: EventType
  readonly view: MemoView
  readonly timeMs: number
}

async function queueMemo(app: MemosApp, tx: Tx, owner: User, { type, view, timeMs }: MemoMessage) {
  if (owner.state !== 'NORMAL') return
  const webhookIds = await webhooksWithRoom(tx, await rows.listEnabledWebhooks(tx, owner.id))
  if (webhookIds.length === 0) return
  const message = await rows.insertMessage(tx, {
    event_type: type,
    // As the memo is now. Retries say the same, whatever becomes of it.
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

/** Lets a webhook pass that is still there and switched on: it was read before the transaction. */
async function requireEnabled(tx: Tx, { user_id, uid }: UserWebhook, name: string): Promise<void> {
  const present = await findUserWebhook(tx, user_id, uid)
  if (!present) throw new DomainError('WEBHOOK_NOT_FOUND', { name })
  if (present.disabled) throw new DomainError('WEBHOOK_DISABLED', { name })
}

function nameOf(user: User): string {
  return `users/${user.user_id ?? user.username}`
}
