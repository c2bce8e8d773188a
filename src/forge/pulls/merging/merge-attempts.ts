import type { Tx } from '../../../platform/database/schema.ts'
import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { readRef } from '../../../platform/git/refs/refs.ts'
import type { Repositories } from '../../../platform/git/repositories/repositories.ts'
import { findUserById } from '../../accounts/users/users.rows.ts'
import { markSeen } from '../../conversations/participants.rows.ts'
import { insertReferenceWork } from '../../conversations/reference-work.rows.ts'
import { recordTimeline } from '../../conversations/timeline.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { rereadPull } from '../heads/open-pulls.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { findPullRequestById, touchPull, updatePullRequest } from '../heads/pull-requests.rows.ts'
import type { PullMergeAttempt, PullRequest } from '../schema.ts'
import { checkOpen, type MergeResult } from './merge-checks.ts'
import { deleteMergeAttempt, listMergeAttempts, putMergeAttempt } from './merge-follow-ups.rows.ts'
import { recordFollowUp } from './merge-follow-ups.ts'
import { deleteScheduledMerge } from './scheduled-merges.rows.ts'

/**
 * Merges between Git and the database. Before Git moves the base branch, a merge attempt is stored
 * with the pending update. The pull request is marked as merged in the transaction that records the
 * update. Git decides whether the merge happened: the base branch contains the merge commit, or
 * does not. A crash in between leaves the attempt, and the next reader of the refs settles it.
 */

/** The merge attempt of a pending update that has ended. */
interface EndedMerge {
  readonly attempt: PullMergeAttempt
  readonly hasHappened: boolean
}

/**
 * Stores a merge attempt, in the transaction that stores the pending update of the base branch.
 *
 * @param pull the row that the decision to merge is based on.
 * @param position among the merges of the update.
 */
export async function recordMergeAttempt(
  tx: Tx,
  updateId: number,
  pull: PullRequest,
  result: Omit<PullMergeAttempt, 'pending_update_id' | 'pull_request_id' | 'position'>,
  position = 0,
): Promise<void> {
  await checkUnchanged(tx, pull)
  const attempt = { ...result, pull_request_id: pull.id, pending_update_id: updateId, position }
  await putMergeAttempt(tx, attempt)
}

/**
 * Marks a pull request as merged without moving a ref.
 *
 * @param pull, @throws as `recordMergeAttempt`.
 */
export async function recordUnchanged(
  app: ReposApp,
  tx: Tx,
  pull: PullRequest,
  result: MergeResult,
): Promise<void> {
  await checkUnchanged(tx, pull)
  await recordMerge(app, tx, pull.id, result)
}

async function checkUnchanged(tx: Tx, pull: PullRequest): Promise<void> {
  const present = await rereadPull(tx, pull)
  checkOpen(present)
  if (present.head_commit !== pull.head_commit) throw new DomainError('HEAD_COMMIT_DIFFERS')
  if (present.base_branch !== pull.base_branch) throw new DomainError('MERGE_OUT_OF_DATE')
}

/** Returns the merge attempts of pending updates of a repository that have ended. */
export async function endedMerges(
  app: ReposApp,
  repositoryId: number,
  updateIds: readonly number[],
): Promise<EndedMerge[]> {
  const attempts = await listMergeAttempts(app.db, updateIds)
  return Promise.all(
    attempts.map(async (attempt) => {
      const { base_branch, merge_commit } = attempt
      const hasHappened = await isOnBranch(app.git, repositoryId, base_branch, merge_commit)
      return { attempt, hasHappened }
    }),
  )
}

/** Returns whether a branch contains a commit. */
export async function isOnBranch(
  repositories: Repositories,
  repositoryId: number,
  branch: string,
  commitId: string,
): Promise<boolean> {
  const tip = await readRef(repositories, repositoryId, `refs/heads/${branch}`)
  if (tip === undefined || tip === commitId) return tip !== undefined
  // A crash of the machine may lose commits that no ref points to.
  if (!(await readCommit(repositories, repositoryId, commitId))) return false
  return !(await independentCommits(repositories, repositoryId, [tip, commitId])).has(commitId)
}

/**
 * Marks the pull requests of ended merge attempts as merged, in the transaction that records the
 * update of their base branch.
 *
 * @param settled ids of pending updates that Git will not make any more if it has not yet.
 */
export async function settleMerges(
  app: ReposApp,
  tx: Tx,
  merges: readonly EndedMerge[],
  settled: readonly number[],
): Promise<void> {
  for (const { attempt, hasHappened } of merges) {
    if (hasHappened) await recordMerge(app, tx, attempt.pull_request_id, attempt)
    if (hasHappened || settled.includes(attempt.pending_update_id))
      await deleteMergeAttempt(tx, attempt)
  }
}

/**
 * Marks a pull request as merged, whatever its row says, because Git has merged it. A pull request of a
 * stack that a queue has merged gets the branch of the queue as its base.
 */
export async function recordMerge(
  app: ReposApp,
  tx: Tx,
  pullId: number,
  result: MergeResult,
): Promise<void> {
  const pull = await findPullRequestById(tx, pullId)
  if (!pull || pull.state === 'MERGED') return
  const { base_branch, merge_base, merge_commit, head_commit, time } = result
  // The account may have been deleted since.
  const merger_id =
    (result.merger_id !== null && (await findUserById(tx, result.merger_id))?.id) || null
  const merged = await updatePullRequest(tx, pullId, {
    merger_id,
    base_branch,
    merge_base,
    merge_commit,
    head_commit,
    state: 'MERGED',
    merge_time: time,
    close_time: time,
  })
  await touchPull(tx, pullId, nowSeconds(app.clock), merger_id ?? undefined)
  if (merger_id !== null) await markSeen(tx, pullId, merger_id)
  await deleteScheduledMerge(tx, pullId)
  await recordFollowUp(app, tx, merged, { ...result, merger_id })
  await insertReferenceWork(tx, [
    {
      repository_id: merged.repository_id,
      actor_id: merger_id,
      branch: merged.base_branch,
      from_commit: null,
      to_commit: merge_commit,
      pull_request_id: pullId,
      due_time: app.clock.now(),
    },
  ])
  if (pull.base_branch !== base_branch) {
    const [oldValue, newValue] = [pull.base_branch, base_branch]
    const event = { type: 'change_target_branch', oldValue, newValue } as const
    await recordTimeline(app, tx, merger_id ?? undefined, pullId, event)
    await recordPullChange(app, tx, merger_id ?? undefined, merged, 'PULL_REQUEST_RETARGETED')
  }
  await recordPullChange(app, tx, merger_id ?? undefined, merged, 'PULL_REQUEST_MERGED')
}
