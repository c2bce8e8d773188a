import type { Tx } from '../../../platform/database/schema.ts'
import { HEADS } from '../../../platform/git/core/ref-names.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import type { MovedRef, ReposApp } from '../../repositories/ports.ts'
import { listUnmergedInto, putMergeBase } from '../heads/pull-heads.rows.ts'

/**
 * Merge bases of unmerged pull requests whose base branch is deleted. They are found while the last
 * commit of the branch is known, and stored, so that closed pull requests keep their commits, files
 * and differences.
 */

/** A pull request, and the merge base of its head and its base branch. */
export interface OrphanedBase {
  readonly pullId: number
  readonly head: string
  readonly mergeBase: string
}

/** The latest pull requests of a branch. Older ones keep the merge base that was stored last. */
const MAX_FOUND = 200

/** Finds the merge bases of pull requests whose base branch was deleted. */
export async function findOrphanedBases(
  app: ReposApp,
  repositoryId: number,
  moved: readonly MovedRef[],
): Promise<OrphanedBase[]> {
  const found: OrphanedBase[] = []
  for (const { ref, oldId, newId } of moved) {
    if (!ref.startsWith(HEADS) || oldId === undefined || newId !== undefined) continue
    const pulls = await listUnmergedInto(app.db, repositoryId, ref.slice(HEADS.length), MAX_FOUND)
    for (const { id: pullId, head_commit: head } of pulls) {
      try {
        const mergeBase = await findMergeBase(app.git, repositoryId, oldId, head)
        if (mergeBase !== undefined) found.push({ pullId, head, mergeBase })
      } catch (err) {
        // The branch is deleted anyway.
        app.log.warn(
          { err, pullRequest: pullId },
          'where a pull request left its base could not be found out',
        )
      }
    }
  }
  return found
}

/** Stores merge bases. Runs after the pull requests were closed. */
export async function storeOrphanedBases(tx: Tx, departed: readonly OrphanedBase[]): Promise<void> {
  for (const { pullId, head, mergeBase } of departed)
    await putMergeBase(tx, pullId, head, mergeBase)
}
