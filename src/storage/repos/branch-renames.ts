import { prepareFirst } from '../database/prepared.ts'
import type { BranchRename } from '../schema/refs.ts'
import type { Db, Tx } from '../schema/schema.ts'

const renameOf = prepareFirst((db, repositoryId: number, oldName: string) =>
  db
    .selectFrom('branch_renames')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('old_name', '=', oldName),
)

/** What became of a name, or is about to; undefined when nothing is known of it. */
export function findBranchRename(
  db: Db,
  repositoryId: number,
  oldName: string,
): Promise<BranchRename | undefined> {
  return renameOf(db, repositoryId, oldName)
}

/** The renames that belong to some notes. */
export function listRenamesOf(db: Db, notes: readonly number[]): Promise<BranchRename[]> {
  return db.selectFrom('branch_renames').selectAll().where('note_id', 'in', notes).execute()
}

/**
 * Says that a branch is about to have another name, instead of whatever was known about its old
 * one.
 */
export async function putBranchRename(tx: Tx, rename: BranchRename): Promise<void> {
  await tx.replaceInto('branch_renames').values(rename).execute()
}

/**
 * Says that a branch has another name now: who looks for one of its former names finds it, and
 * nothing else by its new one.
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

/** Forgets what was known about the old name of a branch. */
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
