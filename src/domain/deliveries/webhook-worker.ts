import { webhookQueue } from '../../storage/webhooks/webhook-deliveries.ts'
import {
  type DueWork,
  type DueWorker,
  finishDueWork,
  startDueWork,
} from '../core/scheduled-work.ts'
import type { DeliveriesApp } from './payloads.ts'
import { attemptDelivery } from './webhook-attempts.ts'

/** Requests under way at once. Each holds a socket and at most one answer of 64 KiB. */
const MAX_UNDER_WAY = 32

/** Of which for the webhooks of one account. */
const MAX_UNDER_WAY_PER_OWNER = 4

/**
 * Sends deliveries as they fall due, until it is stopped.
 *
 * @param userAgent what requests call us.
 */
export function startDeliveries(app: DeliveriesApp, userAgent: string): DueWorker {
  return startDueWork(app, deliveries(app, userAgent))
}

/**
 * Sends what is due, until nothing is: for tests, whose time does not pass by itself.
 *
 * @param userAgent what requests call us.
 */
export function deliverDue(app: DeliveriesApp, userAgent: string): Promise<void> {
  return finishDueWork(app, deliveries(app, userAgent))
}

/** At most one delivery at a time for each webhook. */
function deliveries(app: DeliveriesApp, userAgent: string): DueWork {
  return {
    failure: 'a webhook delivery could not be made or recorded',
    maxRunning: MAX_UNDER_WAY,
    maxRunningPerOwner: MAX_UNDER_WAY_PER_OWNER,
    signal: app.signals.deliveries,
    ...webhookQueue(app.db),
    run: (id, until) => attemptDelivery(app, userAgent, id, until),
  }
}
