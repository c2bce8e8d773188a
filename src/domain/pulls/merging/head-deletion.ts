import { readRef } from '../../../git/refs/refs.ts'
import { openHeadBranches } from '../../../storage/pulls/pull-heads.ts'
import type { MergeFollowUp, PullRequest } from '../../../storage/schema/pulls.ts'
import { findScheduler } from '../../accounts/credentials/schedulers.ts'
import { onBehalfOf, type SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { Scopes } from '../../core/scopes.ts'
import { openRepositoryById } from '../../repos/access/permissions.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { readBranchRules } from '../../repos/protection/branch-rules.ts'
import { pushUpdates } from '../../repos/refs/ref-updates.ts'
import { isPassing } from './passing-refusals.ts'

/**
 * Deletes the branch of a merged pull request, where that is wanted and does no harm, as a push of
 * who wanted that, by the rights of this moment. What was to go to the branch goes to the base that
 * it was merged to; `pull-branches.ts` sees to that. Only what was merged is deleted: a branch that
 * has moved since stays, and one that is gone is no failure, so it may be tried again at any time.
 *
 * @throws what will pass by itself, and what is a fault of our own.
 */
export async function deleteMergedHead(
  app: ReposApp,
  wanted: MergeFollowUp,
  pull: PullRequest,
): Promise<void> {
  const { head_repository_id: id, head_branch } = pull
  if (wanted.deleter_id === null || id === null) return
  const deleter = await findScheduler(app, wanted.deleter_id, wanted.token_uuid)
  if (!deleter) return
  const scopes = wanted.scopes === null ? undefined : Scopes.fromText(wanted.scopes)
  const caller = onBehalfOf(deleter, scopes, wanted.token_uuid ?? undefined)
  const update = { name: `refs/heads/${head_branch}`, from: pull.head_commit, to: undefined }
  try {
    if (!(await isDispensable(app, caller, id, head_branch))) return
    if ((await readRef(app.git, id, update.name)) === update.from)
      await pushUpdates(app, caller, id, [update])
  } catch (error) {
    if (!(error instanceof DomainError) || isPassing(error)) throw error
    app.log.info(
      { err: error, pullRequest: pull.id },
      'the branch of a merged pull request was not deleted',
    )
  }
}

/** Whether nothing else is about a branch. */
async function isDispensable(
  app: ReposApp,
  caller: SignedIn,
  id: number,
  branch: string,
): Promise<boolean> {
  if ((await openHeadBranches(app.db, id, [branch])).length > 0) return false
  const { repository, units } = await openRepositoryById(app, caller, id, 'write')
  if ([repository.default_branch, repository.default_target_branch].includes(branch)) return false
  return (await readBranchRules(app, id, caller.user.id, units)).inForceFor(branch) === undefined
}
