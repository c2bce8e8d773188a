import { transaction } from '../../../storage/database/database.ts'
import { insertPendingRefUpdate, pendingRefUpdatesOf } from '../../../storage/repos/branches.ts'
import type { PendingRefUpdate } from '../../../storage/schema/refs.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import type { PendingPush, ReposApp } from '../ports.ts'

/**
 * Notes that refs are about to move: rows that are written before Git is asked to move anything,
 * and deleted together with the record of what became of it. One that is left over says that refs
 * have to be read from Git.
 */

/**
 * How long a git may work on after the server that started it was killed: nobody is there to end
 * it, and a push of many refs moves them one by one. Until then a note is heeded again and again.
 */
const ORPHANED_GIT_SECONDS = 600

/**
 * Notes that refs of a repository are about to move. Whoever has the note records what became of
 * it.
 *
 * @param also writes other rows that belong to the note. What it throws is thrown, and nothing is
 *   noted.
 * @param push what is about to move, where it is known and somebody does it.
 */
export async function recordPendingUpdate(
  app: ReposApp,
  repositoryId: number,
  also?: (tx: Tx, note: number) => Promise<void>,
  push?: PendingPush,
): Promise<number> {
  let noted: number | undefined
  try {
    return await transaction(app.db, async (tx) => {
      const note = await recordPendingUpdateIn(app, tx, repositoryId, push)
      noted = note
      await also?.(tx, note)
      return note
    })
  } catch (error) {
    if (noted !== undefined) endPendingUpdate(app, noted)
    throw error
  }
}

/** The same together with other rows. */
export async function recordPendingUpdateIn(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  push?: PendingPush,
): Promise<number> {
  const note = await insertPendingRefUpdate(tx, repositoryId, nowSeconds(app.clock))
  app.runningUpdates.set(note, { repositoryId, push })
  return note
}

/**
 * Tells of refs of a repository that have moved who moved them, as long as their note is there:
 * whoever comes first records what became of it. What a crash left is nobody's.
 *
 * @returns the number of the account that moves a ref to an object, undefined when there is none.
 */
export function findPushers(
  app: ReposApp,
  repositoryId: number,
): (ref: string, objectId: string | undefined) => number | undefined {
  const pushers = new Map<string, number>()
  for (const work of app.runningUpdates.values()) {
    if (work.repositoryId !== repositoryId || !work.push) continue
    // No name of a ref has a blank.
    for (const { name, to = '' } of work.push.updates)
      pushers.set(`${name} ${to}`, work.push.pusherId)
  }
  return (ref, objectId = '') => pushers.get(`${ref} ${objectId}`)
}

/**
 * Says that the work behind a note has ended. If its row is still there, it has failed, and the
 * next reader sees to it.
 */
export function endPendingUpdate(app: ReposApp, note: number): void {
  app.runningUpdates.delete(note)
}

/** Whether somebody in this process works on what a note is about. */
export function isRunning(app: ReposApp, note: number): boolean {
  return app.runningUpdates.has(note)
}

/** Notes of a repository that nobody in this process works on: a crash left them, or a failure. */
export async function leftoverUpdates(
  app: ReposApp,
  repositoryId: number,
): Promise<PendingRefUpdate[]> {
  const notes = await pendingRefUpdatesOf(app.db, repositoryId)
  return notes.length === 0 ? notes : notes.filter(({ id }) => !isRunning(app, id))
}

/** Whether a leftover note is done with when the refs have been read once more. */
export function isSettled(app: ReposApp, { create_time }: PendingRefUpdate): boolean {
  return create_time + ORPHANED_GIT_SECONDS < nowSeconds(app.clock)
}
