import { transaction } from '../../../storage/database/database.ts'
import * as rows from '../../../storage/pulls/merge-follow-ups.ts'
import { findPullRequestById } from '../../../storage/pulls/pull-requests.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { type DueWork, type DueWorker, startDueWork } from '../../core/scheduled-work.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { listBroughtCommits } from '../changes/merged-commits.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { deleteMergedHead } from './head-deletion.ts'
import type { MergeResult } from './merge-order.ts'

/**
 * What follows from a merge: its head branch goes, if that is wanted, and the commits that it
 * brought are listed, so that the pull request is found by each of them. Both take Git, so they are
 * noted in the transaction that records the merge, and done after it: by the merge, or by a worker,
 * whichever comes first. Each can be done twice, so a crash between any two steps loses nothing.
 */

/** Merges seen to at once, of which for one repository. */
const MAX_UNDER_WAY = 2
const MAX_UNDER_WAY_PER_REPOSITORY = 1

/** After a failure, twice as long after each. */
const RETRY_MS = 15_000

/** Failures after which it is given up: that makes four hours. */
const MAX_TRIES = 10

/**
 * Notes what follows from a merge, in the transaction that records it.
 *
 * @param result of which `merger_id` is that of an account that is there.
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

/**
 * Deletes the branch of a pull request that has just been merged, if that is wanted. It never
 * fails: what was merged is merged.
 */
export async function deleteWantedHead(app: ReposApp, pullId: number): Promise<void> {
  try {
    const followUp = await rows.findFollowUp(app.db, pullId)
    if (followUp && followUp.deleter_id !== null) await seeTo(app, pullId)
  } catch (err) {
    app.log.error({ err, pullRequest: pullId }, FAILURE)
  }
}

/** Sees to what follows from merges, until it is stopped. */
export async function startFollowUps(app: ReposApp): Promise<DueWorker> {
  await transaction(app.db, (tx) => rows.wakeAllFollowUps(tx, app.clock.now()))
  return startDueWork(app, followUps(app))
}

const FAILURE = 'what follows from a merge could not be done'

function followUps(app: ReposApp): DueWork {
  return {
    failure: FAILURE,
    maxRunning: MAX_UNDER_WAY,
    maxRunningPerOwner: MAX_UNDER_WAY_PER_REPOSITORY,
    signal: app.signals.mergeFollowUps,
    ...rows.followUpQueue(app.db),
    run: (pullId) => seeTo(app, pullId),
  }
}

async function seeTo(app: ReposApp, pullId: number): Promise<void> {
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
