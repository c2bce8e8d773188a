import type { Tx } from '../../../platform/database/schema.ts'
import type { BranchRule } from './protection-rules.ts'

/** The id of a pull request, and its number in its repository. */
interface PullNumber {
  readonly id: number
  readonly number: number
}

/** A push by the server on behalf of a user: a merge or an update of a pull request. */
export type PullPush = MergePush | UpdatePush

/** The merge of a pull request, which updates its base branch. */
export interface MergePush {
  /** The value that Git hooks receive. */
  readonly trigger: 'pr-merge-to-base'
  readonly pull: PullNumber
  /**
   * Returns why the pull request is not ready to merge under a rule; undefined if it is ready.
   * Called after the current rules have been read.
   */
  problemOf(rule: BranchRule): Promise<string | undefined>
  /** Records the push in the transaction of its pending update. An error stops the push. */
  record(tx: Tx, updateId: number): Promise<void>
}

/** The update of the head branch of a pull request with its base branch. */
export interface UpdatePush {
  readonly trigger: 'pr-update-with-base'
  readonly pull: PullNumber
}
