import { HEADS } from '../../../git/core/ref-names.ts'
import { findMergeBase } from '../../../git/history/history.ts'
import { listUnmergedInto, putMergeBase } from '../../../storage/pulls/pull-heads.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import type { MovedRef, ReposApp } from '../../repos/ports.ts'

/**
 * Where pull requests that are not merged have left a base branch that goes: found out before it is
 * forgotten what the branch held, and kept, so that what is closed keeps its commits, files and
 * differences.
 */

/** A pull request, and where its head left its base. */
export interface OrphanedBase {
  readonly pullId: number
  readonly head: string
  readonly mergeBase: string
}

/**
 * Pull requests of one branch that are seen to, the latest; the others keep what was found out
 * about them last.
 */
const MAX_FOUND = 200

/** What of it is to be kept for branches that have gone. */
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
        // The branch has gone all the same.
        app.log.warn(
          { err, pullRequest: pullId },
          'where a pull request left its base could not be found out',
        )
      }
    }
  }
  return found
}

/** Keeps it for those that are closed by now. */
export async function storeOrphanedBases(tx: Tx, departed: readonly OrphanedBase[]): Promise<void> {
  for (const { pullId, head, mergeBase } of departed)
    await putMergeBase(tx, pullId, head, mergeBase)
}
