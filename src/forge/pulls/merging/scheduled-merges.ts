import type { Tx } from '../../../platform/database/schema.ts'
import { type SignedIn, scopesOf, tokenUuidOf } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName } from '../../core/names.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { readMergeRights } from '../heads/merge-rights.ts'
import { type OpenPull, openPull } from '../heads/open-pulls.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { findPullRequestById, touchPull } from '../heads/pull-requests.rows.ts'
import { leaveByRequest } from '../queue/queue-entries.ts'
import type { CheckedMerge } from './merge-checks.ts'
import * as rows from './scheduled-merges.rows.ts'

/**
 * Schedules a merge for the time when the pull request is ready. The scheduled merge does not force
 * and expects no particular head.
 */
export async function scheduleMerge(
  app: ReposApp,
  { caller, pull, options, style }: CheckedMerge,
): Promise<void> {
  const now = app.clock.now()
  const { title, message, deleteBranch } = options
  await changeWatched(app, async (tx) => {
    const present = await findPullRequestById(tx, pull.id)
    if (present?.state !== 'OPEN') throw new DomainError('PULL_REQUEST_NOT_FOUND')
    if (await rows.findScheduledMerge(tx, pull.id))
      throw new DomainError('AUTO_MERGE_SCHEDULED', { id: String(pull.id) })
    await rows.insertScheduledMerge(tx, {
      pull_request_id: pull.id,
      repository_id: pull.repository_id,
      scheduler_id: caller.user.id,
      scopes: scopesOf(caller)?.text ?? null,
      token_uuid: tokenUuidOf(caller) ?? null,
      style,
      title,
      message,
      delete_branch: deleteBranch === undefined ? null : Number(deleteBranch),
      create_time: nowSeconds(app.clock),
      create_time_ms: now,
      // Due at once: the pull request may have become ready since it was checked.
      due_time: now,
    })
    await touchPull(tx, pull.id, nowSeconds(app.clock), caller.user.id)
    await recordPullChange(app, tx, caller.user.id, present, 'PULL_REQUEST_AUTO_MERGE_SCHEDULED')
  })
}

/** Cancels a scheduled merge, or takes the pull request out of its merge queue. */
export async function cancelScheduledMerge(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
): Promise<void> {
  const open = await openPull(app, caller, name, 'take part')
  // A merge that is running ends first, so that no merge happens after it is cancelled.
  await withPullLock(app, open.pull.id, () => cancelLocked(app, caller, open))
}

/** Runs under the lock of the pull request. */
async function cancelLocked(app: ReposApp, caller: SignedIn, open: OpenPull): Promise<void> {
  const { pull } = open
  const merge = await rows.findScheduledMerge(app.db, pull.id)
  if (!merge) {
    if (await leaveByRequest(app, caller, open)) return
    throw new DomainError('AUTO_MERGE_NOT_SCHEDULED')
  }
  const isOwn = merge.scheduler_id === caller.user.id
  if (!isOwn && !(await readMergeRights(app, caller, open, pull.base_branch)).mayMerge)
    throw new DomainError('AUTO_MERGE_CANCEL_DENIED')
  await changeWatched(app, async (tx) => {
    if (!(await dropScheduledMerge(app, tx, caller.user.id, pull.id)))
      throw new DomainError('AUTO_MERGE_NOT_SCHEDULED')
    await touchPull(tx, pull.id, nowSeconds(app.clock), caller.user.id)
  })
}

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
  const isDropped = await rows.deleteScheduledMerge(tx, pullId)
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
