import { transaction } from '../../../storage/database/database.ts'
import { onRollback } from '../../../storage/database/rollbacks.ts'
import { insertPendingRefUpdate, pendingRefUpdatesOf } from '../../../storage/repos/branches.ts'
import type { PendingRefUpdate } from '../../../storage/schema/refs.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import type { PendingPush, ReposApp } from '../ports.ts'

/**
 * Pending updates: rows that are inserted before Git moves refs, and deleted in the transaction
 * that records the result. A row that no running work owns is a leftover of a crash or a failure.
 * It means that the refs must be read from Git.
 */

/**
 * A Git process can go on after the server that started it was killed, and a push of many refs
 * moves them one by one. A leftover update that is younger than this stays, so that the next reader
 * looks at the refs again.
 */
const ORPHANED_PROCESS_SECONDS = 600

/** Writes rows that belong to a pending update, in its transaction. */
export type RecordWithUpdate = (tx: Tx, updateId: number) => Promise<void>

/**
 * Records that refs of a repository are about to move. The caller must record the result.
 *
 * @param push undefined for an update by the server, and when the refs are not known.
 * @param also if this throws, nothing is recorded.
 * @returns the number of the pending update.
 */
export function recordPendingUpdate(
  app: ReposApp,
  repositoryId: number,
  push?: PendingPush,
  also?: RecordWithUpdate,
): Promise<number> {
  return transaction(app.db, async (tx) => {
    const updateId = await recordPendingUpdateIn(app, tx, repositoryId, push)
    await also?.(tx, updateId)
    return updateId
  })
}

/** Does the same as `recordPendingUpdate` as a part of a transaction. */
export async function recordPendingUpdateIn(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  push?: PendingPush,
): Promise<number> {
  const updateId = await insertPendingRefUpdate(tx, repositoryId, nowSeconds(app.clock))
  app.runningUpdates.set(updateId, { repositoryId, push })
  onRollback(tx, () => endPendingUpdate(app, updateId))
  return updateId
}

/**
 * Returns a function that finds the account that has moved a ref to an object. The function knows
 * the running pushes of this moment only, so its result is undefined after a crash.
 */
export function findPushers(
  app: ReposApp,
  repositoryId: number,
): (ref: string, objectId: string | undefined) => number | undefined {
  const pushers = new Map<string, number>()
  for (const running of app.runningUpdates.values()) {
    if (running.repositoryId !== repositoryId || !running.push) continue
    // The name of a ref cannot contain a space.
    for (const { name, to = '' } of running.push.updates)
      pushers.set(`${name} ${to}`, running.push.pusherId)
  }
  return (ref, objectId = '') => pushers.get(`${ref} ${objectId}`)
}

/**
 * Ends the work on a pending update. If its row still exists, the work has failed, and the row is a
 * leftover.
 */
export function endPendingUpdate(app: ReposApp, updateId: number): void {
  app.runningUpdates.delete(updateId)
}

/** Returns whether this process works on a pending update. */
export function isRunning(app: ReposApp, updateId: number): boolean {
  return app.runningUpdates.has(updateId)
}

/** Returns the pending updates of a repository on which this process does not work. */
export async function leftoverUpdates(
  app: ReposApp,
  repositoryId: number,
): Promise<PendingRefUpdate[]> {
  const updates = await pendingRefUpdatesOf(app.db, repositoryId)
  return updates.filter(({ id }) => !isRunning(app, id))
}

/** Returns whether a leftover update is complete once the refs have been read from Git. */
export function isSettled(app: ReposApp, { create_time }: PendingRefUpdate): boolean {
  return create_time + ORPHANED_PROCESS_SECONDS < nowSeconds(app.clock)
}
