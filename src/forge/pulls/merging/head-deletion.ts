import { readRef } from '../../../platform/git/refs/refs.ts'
import { findScheduler } from '../../accounts/credentials/schedulers.ts'
import { onBehalfOf, type SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { Scopes } from '../../core/scopes.ts'
import { openRepositoryById } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranchRules } from '../../repositories/protection/branch-rules.ts'
import { pushUpdates } from '../../repositories/refs/ref-updates.ts'
import { openHeadBranches } from '../heads/pull-heads.rows.ts'
import type { MergeFollowUp, PullRequest } from '../schema.ts'
import { isTemporary } from './temporary-refusals.ts'

/**
 * Deletes the head branch of a merged pull request, if its merge asked for that, as a push of the
 * user who merged with their current rights. A branch that other pull requests or settings need
 * stays; so does one that has moved since the merge. May be called again after a failure.
 *
 * Pull requests into the deleted branch move to the base of the merged one (`pull-branches.ts`).
 *
 * @throws temporary refusals and internal errors.
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
    if (!(error instanceof DomainError) || isTemporary(error)) throw error
    app.log.info(
      { err: error, pullRequest: pull.id },
      'the branch of a merged pull request was not deleted',
    )
  }
}

/** Returns whether nothing else needs the branch. */
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
