import { openHeadBranches } from '../../storage/pull-heads.ts'
import { findPullRequestById, type PullRequest } from '../../storage/pull-requests.ts'
import { findRepositoryById } from '../../storage/repositories.ts'
import type { SignedIn } from '../access.ts'
import type { App } from '../app.ts'
import { DomainError } from '../errors.ts'
import { readBranchRules } from '../repos/branch-rules.ts'
import { openRepositoryById } from '../repos/permissions.ts'
import { pushUpdates } from '../repos/ref-updates.ts'

/**
 * Deletes the branch of a pull request that has just been merged, where that is wanted and does no harm, as a push of the caller.
 * What was to go to the branch goes to the base that it was merged to; `pull-branches.ts` sees to that. It never fails: what was
 * merged is merged.
 *
 * @param wanted undefined as the repository has it.
 */
export async function deleteMergedHead(
  app: App,
  caller: SignedIn,
  pullId: number,
  wanted: boolean | undefined,
): Promise<void> {
  try {
    const pull = await findPullRequestById(app.db, pullId)
    const base = pull && (await findRepositoryById(app.db, pull.repository_id))
    const isWanted = wanted ?? base?.default_delete_branch_after_merge === 1
    if (pull && isWanted && (await isDispensable(app, caller, pull))) await deleteHead(app, caller, pull)
  } catch (err) {
    const level = err instanceof DomainError ? 'info' : 'error'
    app.log[level]({ err, pullRequest: pullId }, 'the branch of a merged pull request was not deleted')
  }
}

/** Whether nothing else is about a branch. */
async function isDispensable(app: App, caller: SignedIn, pull: PullRequest): Promise<boolean> {
  const { head_repository_id: id, head_branch: branch } = pull
  if (id === null || (await openHeadBranches(app.db, id, [branch])).length > 0) return false
  const { repository, units } = await openRepositoryById(app, caller, id, 'write')
  if ([repository.default_branch, repository.default_target_branch].includes(branch)) return false
  return (await readBranchRules(app, id, caller.user.id, units)).inForceFor(branch) === undefined
}

/** Only what was merged: whatever has been pushed since stays. */
async function deleteHead(app: App, caller: SignedIn, pull: PullRequest): Promise<void> {
  const { head_repository_id: id, head_branch, head_commit: from } = pull
  if (id !== null) await pushUpdates(app, caller, id, [{ name: `refs/heads/${head_branch}`, from, to: undefined }])
}
