import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { Core } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import * as hookRows from '../registration/webhooks.rows.ts'
import { getHook, type Hook, type HookPlace } from '../registration/webhooks.ts'
import type { WebhookDelivery } from '../schema.ts'
import { MAX_WAITING_PER_WEBHOOK, newDeliveryUid, tooManyWaiting } from './waiting-deliveries.ts'
import * as rows from './webhook-deliveries.rows.ts'
import type { HookEvent } from './webhook-queue.ts'

/** Returns a page of the deliveries of a webhook, newest first, and the number of all of them. */
export function listHookDeliveries(
  app: Core,
  hook: Hook,
  { offset, limit }: Page,
): Promise<{ deliveries: readonly WebhookDelivery[]; total: number }> {
  return hookRows.listHookDeliveries(app.db, hook.id, offset, limit)
}

/** Returns a delivery of a webhook. */
export async function getHookDelivery(
  app: Core,
  hook: Hook,
  uid: string,
): Promise<WebhookDelivery> {
  const delivery = await rows.findDelivery(app.db, hook.id, uid)
  if (!delivery) throw noDelivery(hook, uid)
  return delivery
}

/** Schedules a delivery for now, with all its retries: again, or earlier than planned. */
export async function redeliverHookDelivery(
  app: Core,
  place: HookPlace,
  id: bigint,
  uid: string,
): Promise<WebhookDelivery> {
  const now = app.clock.now()
  const found = await transaction(app.db, async (tx) => {
    const hook = await activeHook(tx, place, id)
    const delivery = await rows.findDelivery(tx, hook.id, uid)
    if (!delivery) throw noDelivery(hook, uid)
    if (delivery.next_attempt_time === null) checkQuota(hook)
    await rows.requeueDelivery(tx, hook.id, delivery.id, now)
    return delivery
  })
  app.signals.deliveries.notify()
  return { ...found, state: 'PENDING', failures: 0, next_attempt_time: now }
}

/** Queues a delivery of an event, whatever events the webhook receives. */
export async function queueTest(
  app: Core,
  place: HookPlace,
  id: bigint,
  { type, facts }: HookEvent,
): Promise<void> {
  const now = app.clock.now()
  await transaction(app.db, async (tx) => {
    const hook = await activeHook(tx, place, id)
    checkQuota(hook)
    const message = await rows.insertMessage(tx, {
      event_type: type,
      body: JSON.stringify(facts),
      create_time: now,
    })
    await rows.insertDelivery(tx, hook.id, message, newDeliveryUid(), now)
  })
  app.signals.deliveries.notify()
}

async function activeHook(tx: Tx, place: HookPlace, id: bigint): Promise<Hook> {
  const hook = await getHook(tx, place, id)
  if (hook.disabled) throw new DomainError('WEBHOOK_DISABLED', { name: `hooks/${id}` })
  return hook
}

function checkQuota({ waiting_count }: Hook): void {
  if (waiting_count >= MAX_WAITING_PER_WEBHOOK) throw tooManyWaiting()
}

function noDelivery({ id }: Hook, uid: string): DomainError {
  return new DomainError('WEBHOOK_DELIVERY_NOT_FOUND', { name: `hooks/${id}/deliveries/${uid}` })
}
