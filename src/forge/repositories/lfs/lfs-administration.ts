import { transaction } from '../../../platform/database/database.ts'
import { firstCommitWith } from '../../../platform/git/history/commits-of-object.ts'
import {
  type LfsPointer,
  listPointersAt,
  listReachablePointers,
  TooManyFilesError,
} from '../../../platform/git/objects/lfs-pointers.ts'
import { repositoryPath } from '../../../platform/git/repositories/repositories.ts'
import type { Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { checkNotArchived, type OpenRepository, openRepository } from '../access/permissions.ts'
import { findCommitId, reading } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import { pendingRefUpdatesOf } from '../refs/branches.rows.ts'
import { countLfsLocks } from './lfs-locks.rows.ts'
import { listLocks, MAX_LOCKS, type OwnedLock } from './lfs-locks.ts'
import * as rows from './lfs-objects.rows.ts'
import type { LfsObject } from './schema.ts'

/** Files that one search for a pointer reads, and its time. */
const SEARCH_LIMITS = { maxFiles: 1_000_000, timeoutMs: 2 * 60_000 }

const ORDERS: readonly rows.LfsObjectOrder[] = ['created', 'size']

/** An object for administrators of its repository. */
export interface ListedLfsObject extends LfsObject {
  /** Whether a locked file of the default branch is the object. */
  readonly isLocked: boolean
}

/**
 * Returns a page of the objects of a repository.
 *
 * @param sort empty for `created`.
 * @throws as `openRepository`; INVALID_FIELD, SERVER_BUSY, GIT_TIMEOUT
 */
export async function listObjectsOf(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  sort: string,
  page: Page,
): Promise<{ readonly objects: readonly ListedLfsObject[]; readonly total: number }> {
  const open = await openRepository(app, caller, name, 'admin')
  const order = sort === '' ? 'created' : ORDERS.find((known) => known === sort)
  if (!order) throw new DomainError('INVALID_FIELD', { field: 'sort' })
  const { objects, total } = await rows.pageOfLfsObjects(app.db, open.repository.id, order, page)
  const locked = objects.length === 0 ? new Set() : await lockedObjects(app, open)
  return { objects: objects.map((row) => ({ ...row, isLocked: locked.has(row.oid) })), total }
}

/** Returns the objects that are locked files of the default branch. */
async function lockedObjects(app: ReposApp, open: OpenRepository): Promise<ReadonlySet<string>> {
  const locks = await listLocks(app, open, { after: 0 }, MAX_LOCKS)
  const head = locks.length > 0 ? await findCommitId(app, open.repository, '') : undefined
  if (head === undefined) return new Set()
  const paths = locks.map(({ path }) => path)
  const path = repositoryPath(app.git, open.repository.id)
  const found = new Set<string>()
  await reading(
    (async () => {
      for await (const { oid } of listPointersAt(app.git.processes, path, head, paths))
        found.add(oid)
    })(),
  )
  return found
}

/**
 * Returns a page of the locks of a repository, the oldest first.
 *
 * @throws as `openRepository`
 */
export async function listLocksOf(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { offset, limit }: Page,
): Promise<{ readonly locks: readonly OwnedLock[]; readonly total: number }> {
  const open = await openRepository(app, caller, name, 'admin')
  const locks = await listLocks(app, open, { after: 0, offset }, limit)
  return { locks, total: await countLfsLocks(app.db, open.repository.id) }
}

/**
 * Removes an object from a repository if no ref needs the object. The object gets a mark before refs
 * are read. A push that needs the object takes the mark away in the transaction before refs move, and
 * a push whose transaction came before is in progress.
 *
 * @throws as `openRepository`; REPOSITORY_ARCHIVED, LFS_OBJECT_NOT_FOUND, LFS_OBJECT_NEEDED,
 *   SERVER_BUSY, GIT_TIMEOUT
 */
export async function deleteObjectOf(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  oid: string,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  const { id } = repository
  const now = nowSeconds(app.clock)
  await transaction(app.db, async (tx) => {
    if (!(await rows.markLfsObject(tx, id, oid, now))) throw new DomainError('LFS_OBJECT_NOT_FOUND')
    if ((await pendingRefUpdatesOf(tx, id)).length > 0) throw new DomainError('SERVER_BUSY')
  })
  const pointer = await reading(findReachable(app, id, oid))
  if (pointer) {
    await transaction(app.db, (tx) => rows.keepLfsObjects(tx, id, [oid]))
    const commit = await reading(firstCommitWith(app.git, id, pointer.id))
    throw new DomainError('LFS_OBJECT_NEEDED', { commit: commit ?? '' })
  }
  const deleted = await transaction(app.db, (tx) => rows.deleteMarkedLfsObjects(tx, id, [oid], now))
  if (deleted === 0) throw new DomainError('SERVER_BUSY')
}

/** Returns a pointer file of an object that a ref reaches. */
async function findReachable(
  app: ReposApp,
  id: number,
  oid: string,
): Promise<(LfsPointer & { readonly id: string }) | undefined> {
  const path = repositoryPath(app.git, id)
  try {
    const found = listReachablePointers(app.git.processes, path, ['--all'], SEARCH_LIMITS)
    for await (const pointer of found) if (pointer.oid === oid) return pointer
    return undefined
  } catch (error) {
    // Who removes an object must know that no ref needs it.
    if (error instanceof TooManyFilesError) throw new DomainError('GIT_TIMEOUT')
    throw error
  }
}
