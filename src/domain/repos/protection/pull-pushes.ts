import type { PullRequest } from '../../../storage/schema/pulls.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import type { BranchRule } from './protection-rules.ts'

/** A push that the server makes for a pull request, as somebody asks. */
export type PullPush = MergePush | UpdatePush

/** A merge of a pull request, which moves its base branch. */
export interface MergePush {
  /** In the words by which hooks are told. */
  readonly trigger: 'pr-merge-to-base'
  readonly pull: Pick<PullRequest, 'id' | 'number'>
  /**
   * What makes it not ready by a rule, for who pushes; undefined if it is ready. Asked once the
   * rules of this moment are known.
   */
  problemOf(rule: BranchRule): Promise<string | undefined>
  /**
   * Writes down what is about to happen, in the transaction of the note of the push. What it throws
   * stops the push.
   */
  note(tx: Tx, noteId: number): Promise<void>
}

/** An update of the head branch of a pull request by what is new in its base. */
export interface UpdatePush {
  readonly trigger: 'pr-update-with-base'
  readonly pull: Pick<PullRequest, 'id' | 'number'>
}
