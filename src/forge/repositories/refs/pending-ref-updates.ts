import { transaction } from '../../../platform/database/database.ts'
import { onRollback } from '../../../platform/database/rollbacks.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import type { PendingPush, ReposApp } from '../ports.ts'
import type { PendingRefUpdate } from '../schema.ts'
import { insertPendingRefUpdate, pendingRefUpdatesOf } from './branches.rows.ts'

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
 * @throws QUOTA_EXCEEDED, if others have taken the bytes since they were checked
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
    await push?.reservation?.checkIn(tx)
    const updateId = await recordPendingUpdateIn(app, tx, repositoryId, push)
    await also?.(tx, updateId)
    return updateId
  })
}

/** Does the same as `recordPendingUpdate` as a part of a transaction. */
export function recordPendingUpdateIn(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  push?: PendingPush,
): Promise<number> {
  return insert(app, tx, {
    repository_id: repositoryId,
    pusher_id: push?.pusherId ?? null,
    reserved_bytes: push?.reservation?.bytes ?? 0,
    targets: push?.pusherId
      ? JSON.stringify(push.updates.map(({ name, to = '' }) => [name, to]))
      : null,
  })
}

/**
 * Records that a repository is about to get its first refs, in the transaction that inserts the
 * repository. The record of the refs tells webhooks of the repository. After a crash, the pending
 * update makes the server complete or remove the repository.
 *
 * @param creatorId the account that creates it.
 */
export function recordCreationIn(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  creatorId: number,
): Promise<number> {
  return insert(app, tx, { repository_id: repositoryId, pusher_id: creatorId, targets: null })
}

async function insert(
  app: ReposApp,
  tx: Tx,
  update: Pick<PendingRefUpdate, 'repository_id' | 'pusher_id' | 'targets'> &
    Partial<Pick<PendingRefUpdate, 'reserved_bytes'>>,
): Promise<number> {
  const updateId = await insertPendingRefUpdate(tx, {
    ...update,
    create_time: nowSeconds(app.clock),
    server_id: app.coordination.serverId,
  })
  app.runningUpdates.add(updateId)
  onRollback(tx, () => endPendingUpdate(app, updateId))
  return updateId
}

/** Returns a function that finds the account that has moved a ref to an object. */
export function pushersOf(
  pending: readonly PendingRefUpdate[],
): (ref: string, objectId: string | undefined) => number | undefined {
  const pushers = new Map<string, number>()
  for (const { pusher_id, targets } of pending) {
    if (pusher_id === null || targets === null) continue
    // `recordPendingUpdateIn` has written the pairs.
    // The name of a ref cannot contain a space.
    for (const [name, to] of JSON.parse(targets) as [string, string][])
      pushers.set(`${name} ${to}`, pusher_id)
  }
  return (ref, objectId = '') => pushers.get(`${ref} ${objectId}`)
}

/** Returns the numbers of the pending updates of a repository. */
export async function pendingUpdateIds(app: ReposApp, repositoryId: number): Promise<number[]> {
  return (await pendingRefUpdatesOf(app.db, repositoryId)).map(({ id }) => id)
}

/** Returns the objects that pending updates of a repository move refs to. */
export async function neededByUpdates(app: ReposApp, repositoryId: number): Promise<string[]> {
  const pending = await pendingRefUpdatesOf(app.db, repositoryId)
  // `recordPendingUpdateIn` has written the pairs.
  return pending.flatMap(({ targets }) =>
    (JSON.parse(targets ?? '[]') as [string, string][]).flatMap(([, to]) => to || []),
  )
}

/** The pending update of a creation of which webhooks have not been told yet. */
interface UntoldCreation {
  readonly updateId: number
  readonly creatorId: number
}

/** Returns the creation among the ended updates of a repository. */
export function creationAmong(
  pending: readonly PendingRefUpdate[],
  ended: readonly number[],
): UntoldCreation | undefined {
  for (const { id, pusher_id, targets } of pending)
    if (pusher_id !== null && targets === null && ended.includes(id))
      return { updateId: id, creatorId: pusher_id }
  return undefined
}

/**
 * Ends the work on a pending update. If its row still exists, the work has failed, and the row is a
 * leftover.
 */
export function endPendingUpdate(app: ReposApp, updateId: number): void {
  app.runningUpdates.delete(updateId)
}

/** Returns whether this server or another one works on a pending update of a repository. */
export async function isRunning(
  app: ReposApp,
  db: Db,
  repositoryId: number,
  updateId: number,
): Promise<boolean> {
  const updates = await pendingRefUpdatesOf(db, repositoryId)
  const leftovers = await withoutRunning(app, updates)
  return [updates, leftovers].filter((some) => some.some(({ id }) => id === updateId)).length === 1
}

/** Returns the pending updates of a repository on which no server works. */
export async function leftoverUpdates(
  app: ReposApp,
  repositoryId: number,
): Promise<PendingRefUpdate[]> {
  return withoutRunning(app, await pendingRefUpdatesOf(app.db, repositoryId))
}

async function withoutRunning(
  { runningUpdates, coordination }: ReposApp,
  updates: readonly PendingRefUpdate[],
): Promise<PendingRefUpdate[]> {
  const others = updates.filter(({ id }) => !runningUpdates.has(id))
  const own = coordination.serverId
  const servers = others.flatMap(({ server_id }) => (server_id === own ? [] : (server_id ?? [])))
  const running = await coordination.runningServers([...new Set(servers)])
  return others.filter(({ server_id }) => server_id === null || !running.has(server_id))
}

/** Returns whether a leftover update is complete once the refs have been read from Git. */
export function isSettled(app: ReposApp, { create_time }: PendingRefUpdate): boolean {
  return create_time + ORPHANED_PROCESS_SECONDS < nowSeconds(app.clock)
}
