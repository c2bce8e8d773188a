import { transaction } from '../../storage/database/database.ts'
import type { Tx } from '../../storage/schema/schema.ts'
import { queueDeliveries } from './memo-deliveries.ts'
import type { MemoEvent } from './memo-view.ts'
import { notifyOf } from './notifications.ts'
import type { MemosApp } from './ports.ts'
import { recordMemoEvents } from './user-events.ts'

/**
 * Tells everyone whom a change of a memo concerns, in its transaction: notifications, webhooks and
 * watchers of events are rows that exist exactly when the change does.
 *
 * The transaction is one of `publishing`.
 */
export async function publishMemoEvent(app: MemosApp, tx: Tx, event: MemoEvent): Promise<void> {
  await recordMemoEvents(app, tx, event)
  await notifyOf(app, tx, event)
  await queueDeliveries(app, tx, event)
}

/**
 * Runs a change of memos that publishes events, and wakes those who wait for them once it is
 * committed.
 */
export async function publishing<T>(app: MemosApp, change: (tx: Tx) => Promise<T>): Promise<T> {
  const result = await transaction(app.db, change)
  app.signals.deliveries.notify()
  app.signals.events.notify()
  return result
}
