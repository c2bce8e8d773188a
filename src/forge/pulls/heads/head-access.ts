import { type SignedIn, seesPublicDataOnly } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import { type OpenRepository, openRepositoryById } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranchRules } from '../../repositories/protection/branch-rules.ts'
import type { RuleInForce } from '../../repositories/protection/protection-rules.ts'
import { maintainedBranches } from './merge-rights.ts'
import type { OpenPull } from './open-pulls.ts'

/** What a caller may do with the head branch of a pull request. */

/**
 * Opens the repository of the head.
 *
 * @param denied the error for a repository that is gone, or that the caller may not read.
 */
export async function openHeadOf(
  app: ReposApp,
  caller: SignedIn,
  { repository, pull }: OpenPull,
  denied: () => DomainError,
): Promise<OpenRepository> {
  const { head_repository_id: id } = pull
  if (id === null) throw denied()
  try {
    return await openRepositoryById(app, caller, id, id === repository.id ? 'none' : 'read')
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    throw seesPublicDataOnly(caller) ? new DomainError('PULL_REQUEST_NOT_FOUND') : denied()
  }
}

/**
 * Returns whether the caller may push to the head branch, as a writer or as a maintainer of the base.
 *
 * @param isAllowed what a protection rule of the branch must allow.
 */
export async function mayPushHead(
  app: ReposApp,
  caller: SignedIn,
  head: OpenRepository,
  branch: string,
  isAllowed: (rule: RuleInForce['rule'], pusher: RuleInForce['pusher']) => boolean,
): Promise<boolean> {
  const mayWrite = suffices(head.units.code, 'write')
  if (!mayWrite && !(await maintainedBranches(app, caller, head, [branch])).has(branch))
    return false
  const units = mayWrite ? head.units : { code: 'write' as const }
  const rules = await readBranchRules(app, head.repository.id, caller.user.id, units)
  const inForce = rules.inForceFor(branch)
  return !inForce || isAllowed(inForce.rule, inForce.pusher)
}
