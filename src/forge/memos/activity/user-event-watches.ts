import type { AccountsApp } from '../../accounts/ports.ts'
import { createEventWatches, type EventWatch, type StartTimer } from '../../core/event-watches.ts'
import { findAccountsWithEvents, findNewestEventId } from './user-events.rows.ts'

/** The maximum number of open event streams per account: a dozen browser tabs and some programs. */
export const MAX_USER_STREAMS = 16

/** The watches of all accounts. */
export interface UserEventWatches {
  /**
   * Opens a watch, which closes when `until` aborts.
   *
   * @throws TOO_MANY_STREAMS
   */
  open(userId: number, until: AbortSignal): Promise<EventWatch>
}

/** Creates the watches of all accounts. */
export function createUserEventWatches(
  app: AccountsApp,
  startTimer?: StartTimer,
): UserEventWatches {
  const watches = createEventWatches(
    app,
    {
      signal: app.signals.events,
      findNewest: () => findNewestEventId(app.db),
      findSubjects: async (after) =>
        (await findAccountsWithEvents(app.db, after)).map(({ user_id, newest }) => ({
          subjectId: user_id,
          newest,
        })),
    },
    startTimer,
  )
  return {
    open: (userId, until) =>
      watches.open(userId, { key: userId, limit: MAX_USER_STREAMS, scope: 'account' }, until),
  }
}
