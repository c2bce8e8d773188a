import type { Insertable } from 'kysely'
import { smaller } from '../../../platform/database/dialects/dialects.ts'
import { type DueQueue, dueQueue } from '../../../platform/database/due-queue.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { findUserById } from '../../accounts/users/users.rows.ts'
import type { User } from '../../core/schema.ts'
import type {
  UserWebhook,
  WebhookDelivery,
  WebhookMessage,
  WebhookMessagesTable,
} from '../schema.ts'

/** The outcome of an attempt, or of the decision not to attempt. */
export type AttemptResult = Pick<WebhookDelivery, 'state' | 'error' | 'next_attempt_time'> &
  Partial<
    Pick<
      WebhookDelivery,
      | 'attempt_count'
      | 'failures'
      | 'response_status'
      | 'last_attempt_time'
      | 'duration_ms'
      | 'response_body'
    >
  >

/** A delivery to attempt now, with its webhook and the owner of the webhook. */
export interface DueDelivery {
  readonly delivery: WebhookDelivery
  readonly webhook: UserWebhook
  readonly owner: User
}

/** Returns the ids of an account's enabled webhooks. */
export async function listEnabledWebhooks(tx: Tx, userId: number): Promise<number[]> {
  const found = await tx
    .selectFrom('user_webhooks')
    .select('id')
    .where('user_id', '=', userId)
    .where('scope', '=', 'account')
    .where('disabled', '=', 0)
    .orderBy('id')
    .execute()
  return found.map(({ id }) => id)
}

/** Stores the message about an event. */
export function insertMessage(
  tx: Tx,
  message: Insertable<WebhookMessagesTable>,
): Promise<WebhookMessage> {
  return tx.insertInto('webhook_messages').values(message).returningAll().executeTakeFirstOrThrow()
}

/**
 * Queues a message for a webhook.
 *
 * @param dueTime Unix milliseconds.
 */
export async function insertDelivery(
  tx: Tx,
  webhookId: number,
  { id: message_id, ...message }: WebhookMessage,
  uid: string,
  dueTime: number,
): Promise<WebhookDelivery> {
  const delivery = await tx
    .insertInto('webhook_deliveries')
    .values({
      uid,
      webhook_id: webhookId,
      message_id,
      state: 'PENDING',
      next_attempt_time: dueTime,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await refreshDueTime(tx, webhookId)
  return { ...delivery, ...message }
}

/**
 * Queues a message for webhooks with two statements in total, because the change that caused the
 * event waits for them.
 *
 * @param uids the ids of the deliveries, one per webhook.
 * @param dueTime Unix milliseconds.
 */
export async function insertDeliveries(
  tx: Tx,
  webhookIds: readonly number[],
  { id: message_id }: WebhookMessage,
  uids: readonly string[],
  dueTime: number,
): Promise<void> {
  const rows = webhookIds.map((webhook_id, i) => ({
    uid: uids[i] ?? '',
    webhook_id,
    message_id,
    state: 'PENDING' as const,
    next_attempt_time: dueTime,
  }))
  await tx.insertInto('webhook_deliveries').values(rows).execute()
  await tx
    .updateTable('user_webhooks')
    .set((eb) => ({
      next_attempt_time: smaller(
        eb.fn.coalesce('next_attempt_time', eb.val(dueTime)),
        eb.val(dueTime),
      ),
    }))
    .where('id', 'in', webhookIds)
    .execute()
}

/** The number of pending deliveries of a webhook, and of all webhooks of its account. */
export interface WaitingCounts {
  readonly webhookId: number
  readonly accountId: number
  readonly ofWebhook: number
  readonly ofAccount: number
}

/**
 * Returns the number of pending deliveries, in the order of the webhooks. Reads each webhook of the
 * accounts.
 */
export async function countWaiting(
  tx: Tx,
  webhookIds: readonly number[],
): Promise<WaitingCounts[]> {
  const webhooks = await tx
    .selectFrom('user_webhooks')
    .select(['id', 'user_id', 'waiting_count'])
    .where('user_id', 'in', (eb) =>
      eb.selectFrom('user_webhooks').select('user_id').where('id', 'in', webhookIds),
    )
    .where('scope', '=', 'account')
    .orderBy('id')
    .execute()
  const ofAccounts = new Map<number, number>()
  for (const { user_id, waiting_count } of webhooks) {
    ofAccounts.set(user_id, (ofAccounts.get(user_id) ?? 0) + waiting_count)
  }
  const asked = new Set(webhookIds)
  return webhooks
    .filter(({ id }) => asked.has(id))
    .map(({ id, user_id, waiting_count }) => ({
      webhookId: id,
      accountId: user_id,
      ofWebhook: waiting_count,
      ofAccount: ofAccounts.get(user_id) ?? 0,
    }))
}

/**
 * Stores the outcome of an attempt, unless the webhook was deleted meanwhile. A delivery that was
 * queued again meanwhile stays queued.
 *
 * @param attempted the delivery at the start of the attempt.
 */
export async function recordAttempt(
  tx: Tx,
  webhookId: number,
  attempted: Pick<WebhookDelivery, 'id' | 'next_attempt_time'>,
  { state, next_attempt_time, failures, ...attempt }: AttemptResult,
): Promise<void> {
  await tx.updateTable('webhook_deliveries').set(attempt).where('id', '=', attempted.id).execute()
  await tx
    .updateTable('webhook_deliveries')
    .set({ state, next_attempt_time, ...(failures !== undefined && { failures }) })
    .where('id', '=', attempted.id)
    .where('next_attempt_time', '=', attempted.next_attempt_time)
    .execute()
  await refreshDueTime(tx, webhookId)
}

/** Schedules a delivery for `dueTime`, in Unix milliseconds, with all its retries. */
export async function requeueDelivery(
  tx: Tx,
  webhookId: number,
  id: number,
  dueTime: number,
): Promise<void> {
  await tx
    .updateTable('webhook_deliveries')
    .set({ state: 'PENDING', failures: 0, next_attempt_time: dueTime })
    .where('id', '=', id)
    .execute()
  await refreshDueTime(tx, webhookId)
}

/** Marks all pending deliveries of a webhook as failed. */
export async function failWaitingDeliveries(
  tx: Tx,
  webhookId: number,
  error: string,
): Promise<void> {
  await tx
    .updateTable('webhook_deliveries')
    .set({ state: 'FAILED', next_attempt_time: null, error })
    .where('webhook_id', '=', webhookId)
    .where('next_attempt_time', 'is not', null)
    .execute()
  await refreshDueTime(tx, webhookId)
}

/** Deletes the finished deliveries of a webhook except the latest `kept`. */
export async function pruneFinishedDeliveries(
  tx: Tx,
  webhookId: number,
  kept: number,
): Promise<void> {
  const newestToGo = tx
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .where('next_attempt_time', 'is', null)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(kept)
  await tx
    .deleteFrom('webhook_deliveries')
    .where('webhook_id', '=', webhookId)
    .where('next_attempt_time', 'is', null)
    .where('id', '<=', newestToGo)
    .execute()
}

/** Returns the deliveries of a webhook with ids below `beforeId`, newest first. */
export function listDeliveries(
  db: Db,
  webhookId: number,
  beforeId: number | undefined,
  limit: number,
): Promise<WebhookDelivery[]> {
  return selectDeliveries(db)
    .where('delivery.webhook_id', '=', webhookId)
    .$if(beforeId !== undefined, (query) => query.where('delivery.id', '<', beforeId ?? 0))
    .orderBy('delivery.id', 'desc')
    .limit(limit)
    .execute()
}

export function findDelivery(
  db: Db,
  webhookId: number,
  uid: string,
): Promise<WebhookDelivery | undefined> {
  return selectDeliveries(db)
    .where('delivery.uid', '=', uid)
    .where('delivery.webhook_id', '=', webhookId)
    .executeTakeFirst()
}

/** Returns the webhooks as a queue, by the time at which their next delivery is due. */
export function webhookQueue(db: Db): DueQueue {
  const webhooks = db
    .selectFrom('user_webhooks')
    .select(['id', 'user_id as ownerId', 'next_attempt_time as dueTime'])
  return dueQueue(db, webhooks)
}

/**
 * Returns the delivery of a webhook that has been due longest, the oldest of several; undefined
 * when none is due.
 */
export async function findDueDelivery(
  db: Db,
  webhookId: number,
  now: number,
): Promise<DueDelivery | undefined> {
  const delivery = await selectDeliveries(db)
    .where('delivery.webhook_id', '=', webhookId)
    .where('delivery.next_attempt_time', '<=', now)
    .orderBy('delivery.next_attempt_time')
    .orderBy('delivery.id')
    .limit(1)
    .executeTakeFirst()
  const webhook = await db
    .selectFrom('user_webhooks')
    .selectAll()
    .where('id', '=', webhookId)
    .executeTakeFirst()
  const owner = webhook && (await findUserById(db, webhook.user_id))
  return delivery && owner ? { delivery, webhook, owner } : undefined
}

/** Deletes a delivery. */
export async function deleteDelivery(tx: Tx, webhookId: number, id: number): Promise<void> {
  await tx.deleteFrom('webhook_deliveries').where('id', '=', id).execute()
  await refreshDueTime(tx, webhookId)
}

/** Selects deliveries with their messages. */
export function selectDeliveries(db: Db) {
  return db
    .selectFrom('webhook_deliveries as delivery')
    .innerJoin('webhook_messages as message', 'message.id', 'delivery.message_id')
    .selectAll('delivery')
    .select(['message.event_type', 'message.body', 'message.create_time'])
}

async function refreshDueTime(tx: Tx, webhookId: number): Promise<void> {
  await tx
    .updateTable('user_webhooks')
    .set((eb) => ({
      next_attempt_time: eb
        .selectFrom('webhook_deliveries')
        .select((min) => min.fn.min('next_attempt_time').as('first'))
        .where('webhook_id', '=', webhookId)
        .where('next_attempt_time', 'is not', null),
    }))
    .where('id', '=', webhookId)
    .execute()
}
