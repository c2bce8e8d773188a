import type { Tx } from '../../../platform/database/schema.ts'
import { HEADS } from '../../../platform/git/core/ref-names.ts'
import { readRef, readRefs } from '../../../platform/git/refs/refs.ts'
import { recordProtectionChange } from '../activity/repository-events.ts'
import { updateRepository } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'
import { renameBranchProtection } from '../protection/branch-protections.rows.ts'
import type { BranchRename, Repository } from '../schema.ts'
import {
  deleteBranchRename,
  findBranchRename,
  listRenamesOf,
  settleBranchRename,
} from './branches.rows.ts'

/**
 * Renames of branches. A rename is recorded with the pending update of its refs, before Git moves
 * them. The transaction that records the moved refs then updates everything that uses the name of
 * the branch, so a crash leaves no half of a rename.
 */

/** A rename whose work has ended. */
interface EndedRename {
  readonly rename: BranchRename
  /** Whether Git has renamed the branch. */
  readonly hasHappened: boolean
}

/** Returns the renames of pending updates whose work has ended. */
export async function endedRenames(
  app: ReposApp,
  repositoryId: number,
  updates: readonly number[],
): Promise<EndedRename[]> {
  if (updates.length === 0) return []
  const ended = await listRenamesOf(app.db, updates)
  return Promise.all(
    ended.map(async (rename) => {
      const [oldRef, newRef] = [`${HEADS}${rename.old_name}`, `${HEADS}${rename.new_name}`]
      const held = await readRefs(app.git, repositoryId, [oldRef, newRef])
      return { rename, hasHappened: held.has(newRef) && !held.has(oldRef) }
    }),
  )
}

/**
 * Updates everything that uses the name of a renamed branch: its protection rule, the default
 * target of pull requests, and what the ref observers store.
 *
 * @param settled pending updates that Git will not continue. A rename of these that has not
 *   happened is deleted.
 */
export async function settleRenames(
  app: ReposApp,
  tx: Tx,
  { id, default_target_branch }: Repository,
  renames: readonly EndedRename[],
  settled: readonly number[],
): Promise<void> {
  for (const { rename, hasHappened } of renames) {
    if (hasHappened) {
      const { old_name, new_name } = rename
      const ruleId = await renameBranchProtection(tx, id, old_name, new_name)
      if (ruleId !== undefined) {
        const rule = { id: ruleId, name: new_name }
        await recordProtectionChange(app, tx, undefined, {
          repositoryId: id,
          type: 'BRANCH_PROTECTION_EDITED',
          rule,
        })
      }
      if (default_target_branch === old_name)
        await updateRepository(tx, id, { default_target_branch: new_name })
      for (const observer of app.refObservers)
        await observer.branchRenamed(app, tx, id, old_name, new_name)
      await settleBranchRename(tx, rename)
    } else if (rename.pending_update_id !== null && settled.includes(rename.pending_update_id)) {
      await deleteBranchRename(tx, rename)
    }
  }
}

/**
 * Returns the new name of a renamed branch; undefined if the branch was not renamed, or if the new
 * one does not exist either.
 */
export async function findRenamed(
  app: ReposApp,
  repositoryId: number,
  name: string,
): Promise<string | undefined> {
  const rename = await findBranchRename(app.db, repositoryId, name)
  if (!rename || (await readRef(app.git, repositoryId, `${HEADS}${rename.new_name}`)) === undefined)
    return undefined
  return rename.new_name
}
