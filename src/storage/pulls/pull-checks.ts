import type { Mergeability } from '../schema/pulls.ts'
import type { Tx } from '../schema/schema.ts'

/** What a check has found out. */
export interface PullCheck {
  /** The commits that it is about. */
  readonly base: string
  readonly head: string
  readonly mergeability: Mergeability
  /** Empty without one. */
  readonly mergeBase: string
}

/**
 * Stores what a check has found out about an open pull request, unless its head is another one by
 * now.
 */
export async function recordMergeability(tx: Tx, pullId: number, check: PullCheck): Promise<void> {
  await tx
    .updateTable('pull_requests')
    .set({
      mergeability: check.mergeability,
      checked_base: check.base,
      checked_head: check.head,
      merge_base: check.mergeBase,
    })
    .where('id', '=', pullId)
    .where('state', '=', 'OPEN')
    .where('head_commit', '=', check.head)
    .execute()
}
