import type { SignedIn } from '../../core/access.ts'
import { suffices } from '../../core/levels.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranchRules } from '../../repositories/protection/branch-rules.ts'
import {
  mayBypass,
  mayMerge,
  type RuleInForce,
} from '../../repositories/protection/protection-rules.ts'

/** Rights of a user on pull requests to a branch. */
export interface MergeRights {
  /** The protection rule of the branch, for this user; undefined if the branch has none. */
  readonly inForce: RuleInForce | undefined
  /** Granted by the rule. Without a rule, write access to code is enough. */
  readonly mayMerge: boolean
  /**
   * Whether the user may merge a pull request that is not ready. Granted by the rule. Without a
   * rule, this takes admin access to code.
   */
  readonly mayForce: boolean
}

/**
 * Reads the rule of a branch and returns what the caller may do with pull requests to this branch.
 *
 * @throws SERVER_BUSY
 */
export async function readMergeRights(
  app: ReposApp,
  { user }: SignedIn,
  { repository, units }: Pick<OpenRepository, 'repository' | 'units'>,
  branch: string,
): Promise<MergeRights> {
  const inForce = (await readBranchRules(app, repository.id, user.id, units)).inForceFor(branch)
  if (!inForce) {
    const { code } = units
    return { inForce, mayMerge: suffices(code, 'write'), mayForce: suffices(code, 'admin') }
  }
  const { rule, pusher } = inForce
  return { inForce, mayMerge: mayMerge(rule, pusher), mayForce: mayBypass(rule, pusher) }
}
