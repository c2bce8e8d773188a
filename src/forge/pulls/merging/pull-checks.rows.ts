import type { Tx } from '../../../platform/database/schema.ts'
import type { Mergeability } from '../schema.ts'

/** The result of a mergeability check. */
export interface PullCheck {
  /** The checked commits. */
  readonly base: string
  readonly head: string
  readonly mergeability: Mergeability
  /** Empty if there is no merge base. */
  readonly mergeBase: string
}

/**
 * Stores the result of a check of an open pull request, unless its head has changed since.
 *
 * @returns whether the result is stored.
 */
export async function recordMergeability(
  tx: Tx,
  pullId: number,
  check: PullCheck,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('pull_requests')
    .set({
      mergeability: check.mergeability,
      checked_base: check.base,
      checked_head: check.head,
      // The last one stays when the base was replaced by another history.
      ...(check.mergeBase !== '' && { merge_base: check.mergeBase }),
    })
    .where('id', '=', pullId)
    .where('state', '=', 'OPEN')
    .where('head_commit', '=', check.head)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
