import * as rows from '../../../storage/pulls/auto-merges.ts'
import { findPullRequestById, touchPull } from '../../../storage/pulls/pull-requests.ts'
import { type SignedIn, scopesOf, tokenUuidOf } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { changeWatched } from '../../repos/events/repository-events.ts'
import type { ReposApp } from '../../repos/ports.ts'
import type { OpenPull } from '../access/open-pulls.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import type { MergeOrder } from './merge-order.ts'
/**
 * Orders a merge for when it can happen.
 *
 * @param order of which the expected head and the force are none of it: what is merged is what is
 *   ready then.
 * @throws AUTO_MERGE_SCHEDULED; PULL_REQUEST_NOT_FOUND when it is not open any more.
 */
export async function scheduleAutoMerge(
  app: ReposApp,
  caller: SignedIn,
  { pull }: OpenPull,
  order: MergeOrder,
): Promise<void> {
  const now = app.clock.now()
  await changeWatched(app, async (tx) => {
    const present = await findPullRequestById(tx, pull.id)
    if (present?.state !== 'OPEN') throw new DomainError('PULL_REQUEST_NOT_FOUND')
    if (await rows.findAutoMerge(tx, pull.id))
      throw new DomainError('AUTO_MERGE_SCHEDULED', { id: String(pull.id) })
    await rows.insertAutoMerge(tx, {
      pull_request_id: pull.id,
      repository_id: pull.repository_id,
      scheduler_id: caller.user.id,
      scopes: scopesOf(caller)?.text ?? null,
      token_uuid: tokenUuidOf(caller) ?? null,
      style: order.style,
      title: order.title,
      message: order.message,
      delete_branch: order.deleteBranch === undefined ? null : Number(order.deleteBranch),
      create_time: nowSeconds(app.clock),
      // What it waits for may have happened while it was found not to be ready.
      due_time: now,
    })
    await touchPull(tx, pull.id, nowSeconds(app.clock), caller.user.id)
    await recordPullChange(app, tx, caller.user.id, present, 'PULL_REQUEST_AUTO_MERGE_SCHEDULED')
  })
}
