import type { PullMergeAttempt } from '../schema/pulls.ts'
import type { Db, Tx } from '../schema/schema.ts'

/** An attempt, with the branch that it is about. */
export interface MergeIntoBranch extends PullMergeAttempt {
  readonly base_branch: string
}

/**
 * Says that a pull request is about to be merged, instead of whatever was known about an attempt
 * before.
 */
export async function putMergeAttempt(tx: Tx, attempt: PullMergeAttempt): Promise<void> {
  await tx.replaceInto('pull_merge_attempts').values(attempt).execute()
}

/** The attempts that belong to notes. */
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

/** Forgets an attempt, unless another one has taken its place. */
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
