import { isObjectId } from '../../../platform/git/core/object-ids.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { DomainError } from '../../core/errors.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { OpenPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { isOnBranch, recordUnchanged } from './merge-attempts.ts'
import { mergeResult, type OpenMerge } from './open-merges.ts'

/**
 * Marks a pull request as merged by a commit that the caller names and that the base branch
 * contains. No ref moves.
 *
 * @throws WRONG_MERGE_COMMIT; what `recordUnchanged` throws; SERVER_BUSY, GIT_TIMEOUT
 */
export async function mergeManually(app: ReposApp, merge: OpenMerge): Promise<void> {
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
