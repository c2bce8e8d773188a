import { randomBytes } from 'node:crypto'
import type { Tx } from '../../../platform/database/schema.ts'
import { DomainError } from '../../core/errors.ts'
import type { WebhookMessage } from '../schema.ts'
import { countWaiting, insertDeliveries } from './webhook-deliveries.rows.ts'

/**
 * The maximum number of pending deliveries of a webhook: the events of a busy account in a day.
 * Each may be as large as the largest memo, and remain for a week.
 */
export const MAX_WAITING_PER_WEBHOOK = 1_000

/** The maximum number of pending deliveries of all webhooks of an account. */
const MAX_WAITING_PER_ACCOUNT = 5_000

/** 128 random bits make an id unique. Standard Webhooks allows no dot in an id. */
const UID_BYTES = 16

/** The first retries come within minutes. They reduce the number of pending deliveries. */
const RETRY_AFTER_SECONDS = 300

/** Returns the id of a new delivery. */
export function newDeliveryUid(): string {
  return `msg_${randomBytes(UID_BYTES).toString('hex')}`
}

/**
 * Returns those of the given webhooks whose quota of pending deliveries is not used up. The targets
 * of the others are down or too slow, so they miss the event.
 */
export async function webhooksWithinQuota(
  tx: Tx,
  webhookIds: readonly number[],
): Promise<number[]> {
  if (webhookIds.length === 0) return []
  const added = new Map<number, number>()
  return (await countWaiting(tx, webhookIds)).flatMap(
    ({ webhookId, accountId, ofWebhook, ofAccount }) => {
      const more = added.get(accountId) ?? 0
      if (ofWebhook >= MAX_WAITING_PER_WEBHOOK || ofAccount + more >= MAX_WAITING_PER_ACCOUNT)
        return []
      added.set(accountId, more + 1)
      return [webhookId]
    },
  )
}

/** Checks the quota of pending deliveries of a webhook and its account. */
export async function requireQuota(tx: Tx, webhookId: number): Promise<void> {
  if ((await webhooksWithinQuota(tx, [webhookId])).length > 0) return
  throw tooManyWaiting()
}

/** Returns the error for a webhook with too many pending deliveries. */
export function tooManyWaiting(): DomainError {
  return new DomainError('RATE_LIMITED', { retry_after_seconds: String(RETRY_AFTER_SECONDS) })
}

/**
 * Queues a message for webhooks whose quota is not used up.
 *
 * @param dueTime Unix milliseconds.
 */
export function queueMessage(
  tx: Tx,
  webhookIds: readonly number[],
  message: WebhookMessage,
  dueTime: number,
) {
  return insertDeliveries(tx, webhookIds, message, webhookIds.map(newDeliveryUid), dueTime)
}
