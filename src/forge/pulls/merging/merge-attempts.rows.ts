import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { PullMergeAttempt } from '../schema.ts'

/** A merge attempt and its base branch. */
export interface MergeIntoBranch extends PullMergeAttempt {
  readonly base_branch: string
}

/** Records an attempt to merge a pull request. Replaces an earlier attempt. */
export async function putMergeAttempt(tx: Tx, attempt: PullMergeAttempt): Promise<void> {
  await tx
    .insertInto('pull_merge_attempts')
    .values(attempt)
    .onConflict((conflict) => conflict.column('pull_request_id').doUpdateSet(attempt))
    .execute()
}

/** Lists the attempts of pending updates. */
export async function listMergeAttempts(
  db: Db,
  noteIds: readonly number[],
): Promise<MergeIntoBranch[]> {
  if (noteIds.length === 0) return []
  return db
    .selectFrom('pull_merge_attempts')
    .innerJoin('pull_requests', 'pull_requests.id', 'pull_merge_attempts.pull_request_id')
    .selectAll('pull_merge_attempts')
    .select('pull_requests.base_branch')
    .where('note_id', 'in', noteIds)
    .execute()
}

/** Deletes an attempt, unless another one has replaced it. */
export async function deleteMergeAttempt(
  tx: Tx,
  { pull_request_id, note_id }: Pick<PullMergeAttempt, 'pull_request_id' | 'note_id'>,
): Promise<void> {
  await tx
    .deleteFrom('pull_merge_attempts')
    .where('pull_request_id', '=', pull_request_id)
    .where('note_id', '=', note_id)
    .execute()
}
