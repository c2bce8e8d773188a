import type { App } from '../../src/forge/app.ts'
import { recordUserEvent, type UserEventType } from '../../src/forge/memos/activity/user-events.ts'
import { transaction } from '../../src/platform/database/database.ts'

/**
 * Makes events of one account in one transaction, as a change of each resource would, and gives the
 * signal.
 */
export async function makeEvents(
  app: App,
  userId: number,
  resources: readonly string[],
  type: UserEventType = 'MEMO_CREATED',
): Promise<void> {
  await transaction(app.db, async (tx) => {
    for (const resource of resources) await recordUserEvent(app, tx, userId, type, resource)
  })
  app.signals.events.notify()
}
