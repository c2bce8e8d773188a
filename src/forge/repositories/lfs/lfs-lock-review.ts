import { createYielder } from '../../../platform/concurrency/yielding.ts'
import { HEADS, type RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { listChangedPaths } from '../../../platform/git/history/new-commits.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { OpenRepository } from '../access/permissions.ts'
import { reading } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import { locksOfOthers } from './lfs-locks.ts'

/** A file that another user has locked. */
export interface LockedFile {
  readonly path: string
  /** Username of the user who has the lock. */
  readonly owner: string
}

/** Locked files that one review names. */
const MAX_LOCKED = 50

/** The time in which Git lists the changes of one push. */
const MAX_EXAMINATION_MS = 30_000

/**
 * Returns files that updates of branches change though another user has locked them. Each new commit
 * counts, also one whose change a later commit undoes. Without locks, Git is not asked.
 *
 * @param quarantine folder of the quarantined objects of a push; undefined for objects that the server
 *   stored itself.
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function findLockedFiles(
  app: ReposApp,
  { user }: SignedIn,
  open: OpenRepository,
  updates: readonly RefUpdate[],
  quarantine: string | undefined,
): Promise<readonly LockedFile[]> {
  if (open.repository.lfs_locks_enforced === 0) return []
  const locks = await locksOfOthers(app, open, user.id)
  if (locks.size === 0) return []
  const found = new Map<string, string>()
  const deadline = performance.now() + MAX_EXAMINATION_MS
  const yielder = createYielder()
  for (const { name, from, to } of updates) {
    if (!name.startsWith(HEADS) || to === undefined) continue
    const limits = { quarantine, timeoutMs: Math.max(deadline - performance.now(), 1) }
    const paths = listChangedPaths(app.git, open.repository.id, { from, to }, limits)
    await reading(
      (async () => {
        for await (const path of paths) {
          const owner = locks.get(path)
          if (owner !== undefined) found.set(path, owner)
          if (found.size >= MAX_LOCKED) return
          const pause = yielder.yield()
          if (pause) await pause
          if (performance.now() > deadline) throw new DomainError('GIT_TIMEOUT')
        }
      })(),
    )
    if (found.size >= MAX_LOCKED) break
  }
  return [...found].map(([path, owner]) => ({ path, owner }))
}
