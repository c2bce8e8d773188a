import type { Owner } from '../../accounts/schema.ts'
import { findUsersByIds } from '../../accounts/users/users.rows.ts'
import { type SignedIn, signedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { suffices } from '../../core/levels.ts'
import type { User } from '../../core/schema.ts'
import { accessOfUsers } from '../access/permissions.ts'
import { changeWatched, recordEvent } from '../activity/repository-events.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import type { OpenLfs } from './lfs-access.ts'
import { LfsError } from './lfs-error.ts'
import * as rows from './lfs-locks.rows.ts'
import type { LfsLock } from './schema.ts'

/** A lock, with the user who has it. */
export interface OwnedLock extends LfsLock {
  readonly user: User
}

/** Locks of a repository. */
export const MAX_LOCKS = 10_000

const MAX_PATH_BYTES = 4096
const MAX_REF_BYTES = 1024

/** Characters that no path has: NUL, and halves of surrogate pairs, which UTF-8 lacks. */
const UNSUITABLE = /[\0\p{Cs}]/u

type Place = Pick<OpenLfs, 'repository' | 'owner'>

/**
 * Locks a path for the caller. The path need not exist.
 *
 * @param ref the ref that the client names; empty for none.
 * @returns the new lock, or the present one of the path.
 * @throws LfsError 422
 */
export async function lockPath(
  app: ReposApp,
  open: OpenLfs,
  path: string,
  ref: string,
): Promise<{ readonly isNew: boolean; readonly lock: OwnedLock }> {
  const { repository } = open
  const { user } = signedIn(open.caller)
  const wanted = checkLockPath(path)
  if (Buffer.byteLength(ref) > MAX_REF_BYTES) throw new LfsError(422, 'the ref is too long')
  await endLostLocks(app, open)
  const inserted = await changeWatched(app, async (tx) => {
    if ((await rows.countLfsLocks(tx, repository.id)) >= MAX_LOCKS)
      throw new LfsError(422, `a repository can have at most ${MAX_LOCKS} locks`)
    const lock = await rows.insertLfsLock(tx, {
      repository_id: repository.id,
      path: wanted,
      user_id: user.id,
      ref,
      create_time: nowSeconds(app.clock),
    })
    if (lock) await recordEvent(app, tx, eventOf('LFS_LOCKED', lock, user.id))
    return lock
  })
  if (inserted) return { isNew: true, lock: { ...inserted, user } }
  const [lock] = await listLocks(app, open, { path: wanted, after: 0 }, 1)
  // The lock has ended since.
  if (!lock) throw new LfsError(409, 'the lock of this path has just ended: try again')
  return { isNew: false, lock }
}

/**
 * Returns a path as locks have it.
 *
 * @throws LfsError 422
 */
function checkLockPath(text: string): string {
  const path = text.replace(/^\//, '')
  const isValid =
    !UNSUITABLE.test(path) &&
    Buffer.byteLength(path) <= MAX_PATH_BYTES &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  if (!isValid) throw new LfsError(422, 'the path of a lock has to be that of a file')
  return path
}

/** Returns locks with their owners, in the order of their ids. */
export async function listLocks(
  app: ReposApp,
  place: Place,
  filter: rows.LfsLockFilter,
  limit: number,
): Promise<OwnedLock[]> {
  await endLostLocks(app, place)
  const locks = await rows.listLfsLocks(app.db, place.repository.id, filter, limit)
  const users = await usersOf(
    app,
    locks.map(({ user_id }) => user_id),
  )
  return locks.flatMap((lock) => {
    const user = users.get(lock.user_id)
    return user ? [{ ...lock, user }] : []
  })
}

/**
 * Ends a lock.
 *
 * @param force whether to end the lock of another user, which administrators of the repository may.
 * @throws LfsError 403, 404
 */
export async function unlock(
  app: ReposApp,
  open: OpenLfs,
  id: number,
  force: boolean,
): Promise<OwnedLock> {
  const caller: SignedIn = signedIn(open.caller)
  const [lock] = await listLocks(app, open, { id, after: 0 }, 1)
  if (!lock) throw new LfsError(404, 'the lock does not exist')
  const mayUnlock = lock.user_id === caller.user.id || (force && suffices(open.access, 'admin'))
  if (!mayUnlock) throw new LfsError(403, `the lock belongs to ${lock.user.username}`)
  const isDeleted = await changeWatched(app, async (tx) => {
    if (!(await rows.deleteLfsLock(tx, id))) return false
    await recordEvent(app, tx, eventOf('LFS_UNLOCKED', lock, caller.user.id))
    return true
  })
  if (!isDeleted) throw new LfsError(404, 'the lock does not exist')
  return lock
}

function eventOf(
  type: 'LFS_LOCKED' | 'LFS_UNLOCKED',
  { id, repository_id, path }: LfsLock,
  actorId: number | null,
) {
  return {
    repository_id,
    type,
    audience: 'code',
    actor_id: actorId,
    subject_id: id,
    subject: path,
  } as const
}

/** Ends the locks of users who may not write to the repository any more. */
async function endLostLocks(app: ReposApp, { repository, owner }: Place): Promise<void> {
  const ids = await rows.findLockOwners(app.db, repository.id)
  if (ids.length === 0) return
  const writers = await writersAmong(app, ids, repository, owner)
  const lost = ids.filter((id) => !writers.has(id))
  if (lost.length === 0) return
  await changeWatched(app, async (tx) => {
    for (const lock of await rows.deleteLocksOf(tx, repository.id, lost))
      await recordEvent(app, tx, eventOf('LFS_UNLOCKED', lock, null))
  })
}

async function writersAmong(
  app: ReposApp,
  ids: readonly number[],
  repository: Repository,
  owner: Owner,
): Promise<ReadonlySet<number>> {
  const users = [...(await usersOf(app, ids)).values()].filter(({ state }) => state === 'NORMAL')
  const access = await accessOfUsers(app.db, users, repository, owner)
  const mayWrite = (id: number) => suffices(access.get(id)?.code ?? 'none', 'write')
  return new Set(users.map(({ id }) => id).filter(mayWrite))
}

async function usersOf(app: ReposApp, ids: readonly number[]): Promise<Map<number, User>> {
  const users = await findUsersByIds(app.db, [...new Set(ids)])
  return new Map([...users.values()].map((user) => [user.id, user]))
}

/** Returns the locks of other users than one, by path. */
export async function locksOfOthers(
  app: ReposApp,
  place: Place,
  userId: number,
): Promise<ReadonlyMap<string, string>> {
  const locks = await listLocks(app, place, { after: 0 }, MAX_LOCKS)
  const others = locks.filter(({ user_id }) => user_id !== userId)
  return new Map(others.map(({ path, user }) => [path, user.username]))
}
