import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { MemoEvent } from '../memo-view.ts'
import type { MemosApp } from '../ports.ts'
import { queueDeliveries } from './memo-deliveries.ts'
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
