import { deleteAutoMerge } from '../../../storage/pulls/auto-merges.ts'
import { findPullRequestById } from '../../../storage/pulls/pull-requests.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { recordPullChange } from '../heads/pull-changes.ts'

/**
 * Takes back that a pull request is to be merged, if it is, and says so, in the transaction of the
 * change for which that makes no sense any more.
 *
 * @param actorId undefined for the server.
 */
export async function dropAutoMerge(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  pullId: number,
): Promise<boolean> {
  const isDropped = await deleteAutoMerge(tx, pullId)
  if (isDropped) await recordDropped(app, tx, actorId, pullId)
  return isDropped
}

/** Says the same of one that has been taken back. */
export async function recordDropped(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  pullId: number,
): Promise<void> {
  const pull = await findPullRequestById(tx, pullId)
  if (pull) await recordPullChange(app, tx, actorId, pull, 'PULL_REQUEST_AUTO_MERGE_CANCELLED')
}
