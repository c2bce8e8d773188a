import {
  type DueWork,
  type DueWorker,
  finishDueWork,
  startDueWork,
} from '../core/scheduled-work.ts'
import { webhookQueue } from '../webhooks/outbox/webhook-deliveries.rows.ts'
import type { DeliveriesApp } from './payloads.ts'
import { attemptDelivery } from './webhook-attempts.ts'

/**
 * The maximum number of concurrent requests. Each holds a socket and at most 64 KiB of a response.
 */
const MAX_CONCURRENT = 32

/** More of them, each the only one of its account. */
const FIRST_CONCURRENT = 32

/** The maximum number of concurrent requests for the webhooks of one account. */
const MAX_CONCURRENT_PER_OWNER = 4

/**
 * Sends deliveries when they are due, until the worker is stopped.
 *
 * @param userAgent the value of the User-Agent header.
 */
export function startDeliveries(app: DeliveriesApp, userAgent: string): DueWorker {
  return startDueWork(app, deliveries(app, userAgent))
}

/**
 * Sends deliveries until none is due. For tests, whose clock stands still.
 *
 * @param userAgent the value of the User-Agent header.
 */
export function deliverDue(app: DeliveriesApp, userAgent: string): Promise<void> {
  return finishDueWork(app, deliveries(app, userAgent))
}

/** Each webhook has at most one delivery in progress. */
function deliveries(app: DeliveriesApp, userAgent: string): DueWork {
  return {
    failure: 'a webhook delivery could not be made or recorded',
    maxRunning: MAX_CONCURRENT,
    maxRunningPerOwner: MAX_CONCURRENT_PER_OWNER,
    firstPlaces: FIRST_CONCURRENT,
    signal: app.signals.deliveries,
    ...webhookQueue(app.db),
    run: (id, until) => attemptDelivery(app, userAgent, id, until),
  }
}
