import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { type DueWork, type DueWorker, startDueWork } from '../../core/scheduled-work.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { listBroughtCommits } from '../changes/merged-commits.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { findPullRequestById } from '../heads/pull-requests.rows.ts'
import type { PullRequest } from '../schema.ts'
import { deleteMergedHead } from './head-deletion.ts'
import * as rows from './merge-follow-ups.rows.ts'
import type { MergeResult } from './open-merges.ts'

/**
 * Follow-ups of merges: deleting the head branch, if the merge asked for that, and listing the
 * commits of the pull request, by which it can be found later. Both need Git, so the transaction
 * that records the merge only stores a follow-up. The merge itself or a worker, whichever is first,
 * completes it. Every step can be repeated, so a crash loses nothing.
 */

/** Limits of follow-ups that run at once. */
const MAX_RUNNING = 2
const MAX_RUNNING_PER_REPOSITORY = 1

/** The delay after the first failure. It doubles after each further failure. */
const RETRY_MS = 15_000

/** Failures after which a follow-up is given up, after four hours. */
const MAX_TRIES = 10

/**
 * Stores the follow-up of a merge, in the transaction that records the merge.
 *
 * @param result `merger_id` is the id of an existing account, or null.
 */
export async function recordFollowUp(
  app: ReposApp,
  tx: Tx,
  pull: PullRequest,
  result: MergeResult,
): Promise<void> {
  const { base_commit, delete_head, merger_id, scopes, token_uuid } = result
  const isDeleted = delete_head === 1
  await rows.insertFollowUp(tx, {
    pull_request_id: pull.id,
    repository_id: pull.repository_id,
    base_commit,
    deleter_id: isDeleted ? merger_id : null,
    scopes: isDeleted ? scopes : null,
    token_uuid: isDeleted ? token_uuid : null,
    due_time: app.clock.now(),
  })
}

/** Deletes the head branch of a pull request after its merge, if the merge asked for that. */
export async function deleteWantedHead(app: ReposApp, pullId: number): Promise<void> {
  try {
    const followUp = await rows.findFollowUp(app.db, pullId)
    if (followUp && followUp.deleter_id !== null) await complete(app, pullId)
  } catch (err) {
    app.log.error({ err, pullRequest: pullId }, FAILURE)
  }
}

/** Starts the worker that completes follow-ups. */
export async function startFollowUps(app: ReposApp): Promise<DueWorker> {
  await transaction(app.db, (tx) => rows.wakeAllFollowUps(tx, app.clock.now()))
  return startDueWork(app, followUps(app))
}

const FAILURE = 'a follow-up of a merge failed'

function followUps(app: ReposApp): DueWork {
  return {
    failure: FAILURE,
    maxRunning: MAX_RUNNING,
    maxRunningPerOwner: MAX_RUNNING_PER_REPOSITORY,
    signal: app.signals.mergeFollowUps,
    ...rows.followUpQueue(app.db),
    run: (pullId) => complete(app, pullId),
  }
}

async function complete(app: ReposApp, pullId: number): Promise<void> {
  await withPullLock(app, pullId, async () => {
    const followUp = await rows.findFollowUp(app.db, pullId)
    const pull = followUp && (await findPullRequestById(app.db, pullId))
    if (!pull) return
    try {
      await deleteMergedHead(app, followUp, pull)
      await listBroughtCommits(app, followUp, pull)
    } catch (err) {
      app.log.warn({ err, pullRequest: pullId, tries: followUp.tries + 1 }, FAILURE)
      const dueTime = app.clock.now() + RETRY_MS * 2 ** followUp.tries
      if (followUp.tries + 1 < MAX_TRIES)
        return transaction(app.db, (tx) => rows.restFollowUp(tx, pullId, dueTime))
    }
    await transaction(app.db, (tx) => rows.deleteFollowUp(tx, pullId))
  })
}
