import { randomBytes } from 'node:crypto'
import type { Tx } from '../../storage/schema/schema.ts'
import type { WebhookMessage } from '../../storage/schema/webhooks.ts'
import { countWaiting, insertDeliveries } from '../../storage/webhooks/webhook-deliveries.ts'
import { DomainError } from '../core/errors.ts'

/**
 * Waiting for one webhook: what a busy account has in a day. Each may be as long as the longest
 * memo, and stay for a week.
 */
const MAX_WAITING_PER_WEBHOOK = 1_000

/** Waiting for all webhooks of an account. */
const MAX_WAITING_PER_ACCOUNT = 5_000

/** 128 random bits, so that ids never repeat. Standard Webhooks wants no dot in an id. */
const UID_BYTES = 16

/** The first retries come within minutes, and make room. */
const RETRY_AFTER_SECONDS = 300

/** The id of a new delivery. */
export function newDeliveryUid(): string {
  return `msg_${randomBytes(UID_BYTES).toString('hex')}`
}

/**
 * Those of some webhooks for which not too much waits already. The others are not told: their
 * targets take nothing, or too slowly.
 */
export async function webhooksWithRoom(tx: Tx, webhookIds: readonly number[]): Promise<number[]> {
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

/** @throws RATE_LIMITED when too much waits for a webhook, or its account, already. */
export async function requireRoom(tx: Tx, webhookId: number): Promise<void> {
  if ((await webhooksWithRoom(tx, [webhookId])).length > 0) return
  throw new DomainError('RATE_LIMITED', { retry_after_seconds: String(RETRY_AFTER_SECONDS) })
}

/**
 * Queues a message to webhooks that have room.
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
