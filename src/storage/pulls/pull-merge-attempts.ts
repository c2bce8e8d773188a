import type { Selectable } from 'kysely'
import type { Db, Tx } from '../database/database.ts'

/**
 * Merges that Git was about to be asked for: when the update of the base is recorded, they have
 * happened or not.
 */
export interface PullMergeAttemptsTable {
  pull_request_id: number
  /** Of the note of the update of the base branch. */
  note_id: number
  merger_id: number
  /** What the base branch held before; null where that is not known. */
  base_commit: string | null
  /** Where head left base before. */
  merge_base: string
  /** What is merged. */
  head_commit: string
  /** What the base branch is to hold. */
  merge_commit: string
  /** Unix seconds. */
  time: number
  /** 0 or 1: whether who merges wants the head branch deleted after that. */
  delete_head: number
  /**
   * As the next one for a deletion: of the token by which it was asked for; null for a credential
   * that is not limited.
   */
  scopes: string | null
  token_uuid: string | null
}

export type PullMergeAttempt = Selectable<PullMergeAttemptsTable>

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
