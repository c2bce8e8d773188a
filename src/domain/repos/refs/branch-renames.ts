import { HEADS } from '../../../git/core/ref-names.ts'
import { readRef, readRefs } from '../../../git/refs/refs.ts'
import { renameBranchProtection } from '../../../storage/repos/branch-protections.ts'
import {
  deleteBranchRename,
  findBranchRename,
  listRenamesOf,
  settleBranchRename,
} from '../../../storage/repos/branch-renames.ts'
import { updateRepository } from '../../../storage/repos/repositories.ts'
import type { BranchRename } from '../../../storage/schema/refs.ts'
import type { Repository } from '../../../storage/schema/repos.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { recordProtectionChange } from '../events/repository-events.ts'
import type { ReposApp } from '../ports.ts'

/**
 * What goes with the name of a branch and follows it to another one. It is noted before Git is
 * asked to move the refs, and follows in the transaction that records what Git made of that, so
 * that a crash in between leaves nothing behind.
 */

/** A rename that nobody works on any more. */
export interface EndedRename {
  readonly rename: BranchRename
  /** What Git says. */
  readonly hasHappened: boolean
}

/** The renames that belong to notes of a repository whose work has ended. */
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
 * Lets follow what goes with the names of branches: the rule that is called like one, where pull
 * requests go by default, and those that are open.
 *
 * @param settled notes whose work Git will not do any more if it has not.
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
    } else if (rename.note_id !== null && settled.includes(rename.note_id)) {
      await deleteBranchRename(tx, rename)
    }
  }
}

/**
 * What a branch that is not there any more is called now; undefined when nobody has renamed it, or
 * that is gone too.
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
