import { prepareFirst } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { BranchRename } from './schema.ts'

/** Returns the rename of a branch name, completed or pending; undefined if there is none. */
export const findBranchRename = prepareFirst((db, repositoryId: number, oldName: string) =>
  db
    .selectFrom('branch_renames')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('old_name', '=', oldName),
)

/** Returns the renames of pending updates. */
export function listRenamesOf(db: Db, notes: readonly number[]): Promise<BranchRename[]> {
  return db.selectFrom('branch_renames').selectAll().where('note_id', 'in', notes).execute()
}

/** Records a pending rename of a branch. It replaces an earlier rename of the old name. */
export async function putBranchRename(tx: Tx, rename: BranchRename): Promise<void> {
  await tx
    .insertInto('branch_renames')
    .values(rename)
    .onConflict((conflict) => conflict.columns(['repository_id', 'old_name']).doUpdateSet(rename))
    .execute()
}

/**
 * Records a completed rename. Former names of the branch lead to the new name, and a rename of the
 * new name is removed.
 */
export async function settleBranchRename(
  tx: Tx,
  { repository_id, old_name, new_name }: BranchRename,
): Promise<void> {
  await deleteBranchRename(tx, { repository_id, old_name: new_name })
  const ofRepository = tx.updateTable('branch_renames').where('repository_id', '=', repository_id)
  await ofRepository.set({ note_id: null }).where('old_name', '=', old_name).execute()
  await ofRepository.set({ new_name }).where('new_name', '=', old_name).execute()
}

/** Removes the rename of a former branch name. */
export async function deleteBranchRename(
  tx: Tx,
  { repository_id, old_name }: Pick<BranchRename, 'repository_id' | 'old_name'>,
): Promise<void> {
  await tx
    .deleteFrom('branch_renames')
    .where('repository_id', '=', repository_id)
    .where('old_name', '=', old_name)
    .execute()
}
