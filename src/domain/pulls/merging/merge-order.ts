import type { PullMergeAttempt } from '../../../storage/schema/pulls.ts'
/** A merge as somebody asks for it. */
export interface MergeOrder {
  /** Empty for the default. */
  readonly style: string
  /** Of the commit; empty for the default. */
  readonly title: string
  readonly message: string
  /** The commit by which Git has merged it, where it is merged already. */
  readonly mergeCommitId: string
  /** The commit where the head is expected; empty for wherever it is. */
  readonly headCommitId: string
  /** Whether to do it although it is not ready. */
  readonly force: boolean
  /** Whether to wait until it is ready. */
  readonly whenChecksSucceed: boolean
  /** Whether to delete the head branch; undefined as the repository has it. */
  readonly deleteBranch: boolean | undefined
}

/** What has become of a merge. */
export type MergeOutcome = 'merged' | 'scheduled'

/** What is merged by what. */
export type MergeResult = Omit<PullMergeAttempt, 'note_id' | 'pull_request_id' | 'merger_id'> & {
  /** Null when nobody knows whose doing it is. */
  readonly merger_id: number | null
}

/** Whether the head branch is to go after a merge, and by which credential of who merges. */
export type HeadDeletion = Pick<PullMergeAttempt, 'delete_head' | 'scopes' | 'token_uuid'>

/** For a merge after which the branch stays. */
export const NO_DELETION: HeadDeletion = { delete_head: 0, scopes: null, token_uuid: null }
