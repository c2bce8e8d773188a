import { numbersOf } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { LfsLock, NewLfsLock } from './schema.ts'

/** Which locks a list has. */
export interface LfsLockFilter {
  readonly id?: number | undefined
  readonly path?: string | undefined
  /** The list begins behind this id. */
  readonly after: number
  /** Locks that the list leaves out. */
  readonly offset?: number | undefined
}

/** Returns locks of a repository, in the order of their ids. */
export function listLfsLocks(
  db: Db,
  repositoryId: number,
  { id, path, after, offset = 0 }: LfsLockFilter,
  limit: number,
): Promise<LfsLock[]> {
  return db
    .selectFrom('lfs_locks')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('id', '>', after)
    .$if(id !== undefined, (query) => query.where('id', '=', id ?? 0))
    .$if(path !== undefined, (query) => query.where('path', '=', path ?? ''))
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the users who have locks in a repository. */
export async function findLockOwners(db: Db, repositoryId: number): Promise<number[]> {
  const owners = await db
    .selectFrom('lfs_locks')
    .select('user_id')
    .distinct()
    .where('repository_id', '=', repositoryId)
    .execute()
  return owners.map(({ user_id }) => user_id)
}

/** Returns the number of locks of a repository. */
export async function countLfsLocks(db: Db, repositoryId: number): Promise<number> {
  const { count } = await db
    .selectFrom('lfs_locks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return count
}

/** Inserts a lock. Returns undefined if the path has one. */
export function insertLfsLock(tx: Tx, lock: NewLfsLock): Promise<LfsLock | undefined> {
  return tx
    .insertInto('lfs_locks')
    .values(lock)
    .onConflict((conflict) => conflict.columns(['repository_id', 'path']).doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** Deletes a lock. Returns false if the lock is gone. */
export async function deleteLfsLock(tx: Tx, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('lfs_locks')
    .where('id', '=', id)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Deletes the locks of some users in a repository, and returns them. */
export function deleteLocksOf(
  tx: Tx,
  repositoryId: number,
  userIds: readonly number[],
): Promise<LfsLock[]> {
  return tx
    .deleteFrom('lfs_locks')
    .where('repository_id', '=', repositoryId)
    .where('user_id', 'in', numbersOf(JSON.stringify(userIds)))
    .returningAll()
    .execute()
}
