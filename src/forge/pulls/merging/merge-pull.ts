import { waitAtMost } from '../../../platform/concurrency/wait-at-most.ts'
import { transaction } from '../../../platform/database/database.ts'
import { isObjectId } from '../../../platform/git/core/object-ids.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { markSeen, unseenConversations } from '../../conversations/participants.rows.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName } from '../../core/names.ts'
import { checkWritable } from '../../repositories/access/permissions.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { pushUpdates } from '../../repositories/refs/ref-updates.ts'
import { withMergeLock, withPullLock } from '../heads/merge-locks.ts'
import { type OpenPull, openPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { findPullRequestById } from '../heads/pull-requests.rows.ts'
import { checkEntering, checkNotQueued, enterQueue, mustQueue } from '../queue/queue-entries.ts'
import type { PullRequest } from '../schema.ts'
import { isOnBranch, recordMergeAttempt, recordUnchanged } from './merge-attempts.ts'
import {
  type CheckedMerge,
  checkMerge,
  isScheduled,
  MANUALLY_MERGED,
  type MergeOptions,
  type MergeOutcome,
  mergeProblem,
  mergeResult,
  type OpenMerge,
  openMerge,
  styleNotAllowed,
} from './merge-checks.ts'
import { createMergeCommits } from './merge-commits.ts'
import { deleteWantedHead } from './merge-follow-ups.ts'
import { scheduleMerge } from './scheduled-merges.ts'

/**
 * Merges a pull request, or schedules the merge for the time when the pull request is ready. Deletes
 * the head branch afterwards if the caller or the repository wants it. A failure to delete the
 * branch does not fail the merge.
 *
 * @throws MERGE_DENIED and REPOSITORY_NOT_FOUND, after which a scheduled merge is dropped; temporary
 *   reasons, after which it waits.
 */
export async function mergePull(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  options: MergeOptions,
): Promise<MergeOutcome> {
  const open = await openPull(app, caller, name, 'take part')
  checkWritable(open.repository)
  if (!isScheduled(caller)) await markPullSeen(app, caller, open.pull)
  const outcome = await withPullLock(app, open.pull.id, () =>
    mergeLocked(app, caller, open, options),
  )
  if (outcome !== 'merged') return outcome
  // Issues that the merge closes are closed when the call answers, as in compatible systems.
  await waitAtMost(app.finishReferenceWork(app, open.repository.id), app.patience.closingMs)
  await deleteWantedHead(app, open.pull.id)
  return outcome
}

/** A user who merges a pull request has seen it. */
async function markPullSeen(
  { db }: ReposApp,
  { user }: SignedIn,
  { id }: PullRequest,
): Promise<void> {
  if ((await unseenConversations(db, [id], user.id)).size > 0)
    await transaction(db, (tx) => markSeen(tx, id, user.id))
}

/** Runs under the lock of the pull request. */
async function mergeLocked(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  options: MergeOptions,
): Promise<MergeOutcome> {
  const merge = await openMerge(app, caller, open, options)
  const isQueued = mustQueue(merge)
  if (options.style === MANUALLY_MERGED) {
    if (isQueued) throw styleNotAllowed(MANUALLY_MERGED)
    await mergeManually(app, merge)
    return 'merged'
  }
  if (isQueued) return queueOrSchedule(app, merge)
  const { repository_id, base_branch } = merge.pull
  return withMergeLock(app, repository_id, base_branch, () => mergeToBase(app, merge))
}

/** Adds a pull request to the queue of its base, or schedules that for when it is ready. */
async function queueOrSchedule(app: ReposApp, merge: OpenMerge): Promise<MergeOutcome> {
  await checkNotQueued(app.db, merge.pull)
  const checked = await checkEntering(app, merge)
  if (checked.mustWait) {
    await scheduleMerge(app, checked)
    return 'scheduled'
  }
  await enterQueue(app, checked, false)
  return 'queued'
}

/** Runs under the lock of the base branch, too. */
async function mergeToBase(app: ReposApp, open: OpenMerge): Promise<MergeOutcome> {
  const merge = await checkMerge(app, open)
  if (merge.mustWait) {
    await scheduleMerge(app, merge)
    return 'scheduled'
  }
  await moveBase(app, merge, await createMergeCommits(app, merge))
  return 'merged'
}

/** Moves the base branch to the result of a merge and marks the pull request as merged; or neither. */
async function moveBase(app: ReposApp, merge: CheckedMerge, to: string): Promise<void> {
  const { caller, pull, base, head, mergeBase } = merge
  const commits = { base_commit: base, merge_base: mergeBase, head_commit: head, merge_commit: to }
  const result = mergeResult(app, merge, commits)
  if (to === base) {
    // A rebase left nothing: the base branch already has every change.
    await changeWatched(app, (tx) => recordUnchanged(app, tx, pull, result))
    return
  }
  const update = { name: `refs/heads/${pull.base_branch}`, from: base, to }
  try {
    await pushUpdates(app, caller, pull.repository_id, [update], {
      pull: {
        trigger: 'pr-merge-to-base',
        pull,
        problemOf: async (rule) => (await mergeProblem(app, merge, rule))?.text,
        record: (tx, updateId) => recordMergeAttempt(tx, updateId, pull, result),
      },
    })
  } catch (error) {
    throw refusalOf(error)
  }
  // Another push may have moved the branch back before the merge was recorded.
  const merged = await findPullRequestById(app.db, pull.id)
  if (merged?.state !== 'MERGED') throw new DomainError('MERGE_OUT_OF_DATE')
}

/** Converts an error of the ref-update pipeline to the error of a merge. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error
  const { reason, metadata } = error
  switch (reason) {
    case 'REF_CHANGED':
      return new DomainError('MERGE_OUT_OF_DATE')
    case 'REPOSITORY_ACCESS_DENIED':
      return new DomainError('MERGE_DENIED')
    case 'FILE_LOCKED':
      return new DomainError('MERGE_FILE_LOCKED', metadata)
    case 'BRANCH_PROTECTED':
    case 'REF_REFUSED':
    case 'GIT_HOOK_REFUSED':
      return new DomainError('MERGE_PUSH_REFUSED', { text: metadata.text ?? '' })
    default:
      return error
  }
}

/**
 * Checks that a pull request is merged.
 *
 * @throws as `openPull`; PULL_REQUEST_NOT_MERGED
 */
export async function checkMerged(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
): Promise<void> {
  const { pull } = await openPull(app, caller, name, 'read')
  if (pull.state !== 'MERGED') throw new DomainError('PULL_REQUEST_NOT_MERGED')
}

/**
 * Marks a pull request as merged by a commit that the caller names and that the base branch
 * contains. No ref moves.
 */
async function mergeManually(app: ReposApp, merge: OpenMerge): Promise<void> {
  const { pull, repository, options } = merge
  const merge_commit = options.mergeCommitId.trim().toLowerCase()
  const isOnBase =
    isObjectId(merge_commit) &&
    (await reading(isOnBranch(app.git, repository.id, pull.base_branch, merge_commit)))
  if (!isOnBase) throw new DomainError('WRONG_MERGE_COMMIT')
  const head_commit = await prepareHead(app, pull)
  const merge_base = await mergeBaseBefore(app, merge, head_commit, merge_commit)
  const commits = { base_commit: null, merge_base, head_commit, merge_commit }
  await changeWatched(app, (tx) => recordUnchanged(app, tx, pull, mergeResult(app, merge, commits)))
}

/**
 * Returns the merge base before the merge. The recorded merge base is used, unless it was computed
 * after the merge.
 */
async function mergeBaseBefore(
  app: ReposApp,
  { pull: { repository_id, merge_base } }: OpenPull,
  head: string,
  mergeCommit: string,
): Promise<string> {
  if (merge_base !== '' && merge_base !== head) return merge_base
  const parent = (await readCommit(app.git, repository_id, mergeCommit))?.parentIds[0]
  return (
    (parent && (await reading(findMergeBase(app.git, repository_id, parent, head)))) ?? merge_base
  )
}
