import type { Tx } from '../../../platform/database/schema.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { findPullRequestById } from '../heads/pull-requests.rows.ts'
import { deleteAutoMerge } from './scheduled-merges.rows.ts'

/**
 * Deletes the scheduled merge of a pull request, if there is one, and records the cancellation.
 *
 * @param actorId undefined for the server.
 * @returns whether a merge was scheduled.
 */
export async function dropScheduledMerge(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  pullId: number,
): Promise<boolean> {
  const isDropped = await deleteAutoMerge(tx, pullId)
  if (isDropped) await recordDropped(app, tx, actorId, pullId)
  return isDropped
}

/** Records the cancellation of a scheduled merge that has been deleted. */
export async function recordDropped(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  pullId: number,
): Promise<void> {
  const pull = await findPullRequestById(tx, pullId)
  if (pull) await recordPullChange(app, tx, actorId, pull, 'PULL_REQUEST_AUTO_MERGE_CANCELLED')
}
