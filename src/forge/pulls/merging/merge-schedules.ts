import { findScheduler } from '../../accounts/credentials/schedulers.ts'
import { scopesOf, tokenUuidOf } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { findPullRequestById, touchPull } from '../heads/pull-requests.rows.ts'
import type { PullRequest } from '../schema.ts'
import type { CheckedMerge } from './open-merges.ts'
import * as rows from './scheduled-merges.rows.ts'

/**
 * Schedules a merge for the time when the pull request is ready. The scheduled merge does not force
 * and expects no particular head.
 *
 * @throws AUTO_MERGE_SCHEDULED; PULL_REQUEST_NOT_FOUND if the pull request is no longer open.
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
    if (await rows.findAutoMerge(tx, pull.id))
      throw new DomainError('AUTO_MERGE_SCHEDULED', { id: String(pull.id) })
    await rows.insertAutoMerge(tx, {
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
      // Due at once: the pull request may have become ready since it was checked.
      due_time: now,
    })
    await touchPull(tx, pull.id, nowSeconds(app.clock), caller.user.id)
    await recordPullChange(app, tx, caller.user.id, present, 'PULL_REQUEST_AUTO_MERGE_SCHEDULED')
  })
}

/** Returns whether a merge is still scheduled, by a user who may still sign in. */
export async function isStillScheduled(app: ReposApp, { id }: PullRequest): Promise<boolean> {
  const merge = await rows.findAutoMerge(app.db, id)
  return (
    merge !== undefined &&
    (await findScheduler(app, merge.scheduler_id, merge.token_uuid)) !== undefined
  )
}
