import {
  findListings,
  type Listing,
  listBranchProtections,
} from '../../../storage/repos/branch-protections.ts'
import type { ProtectionList } from '../../../storage/schema/repos.ts'
import { suffices } from '../../core/levels.ts'
import type { UnitAccess } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import {
  type BranchRule,
  effectiveRule,
  inOrder,
  mayMerge,
  mayPush,
  type RuleInForce,
} from './protection-rules.ts'

/** The rules of a repository about branches as they are for somebody. */
export interface BranchRules {
  /** The rule that is in force for a branch; undefined without one. */
  inForceFor(branch: string): RuleInForce | undefined
}

/**
 * The rules of a repository about branches, for somebody.
 *
 * @param userId undefined for somebody who is not signed in.
 * @param units what they may do.
 */
export async function readBranchRules(
  app: ReposApp,
  repositoryId: number,
  userId: number | undefined,
  units: Pick<UnitAccess, 'code'>,
): Promise<BranchRules> {
  const rules = inOrder(await listBranchProtections(app.db, repositoryId))
  if (rules.length === 0) return { inForceFor: () => undefined }
  const listings = userId === undefined ? [] : await findListings(app.db, repositoryId, userId)
  const listedIn = listsByRule(listings)
  const mayWrite = userId !== undefined && suffices(units.code, 'write')
  const isAdministrator = userId !== undefined && suffices(units.code, 'admin')
  return {
    inForceFor(branch) {
      const rule = effectiveRule(rules, branch)
      if (!rule) return undefined
      return {
        rule,
        pusher: {
          kind: 'user',
          mayWrite,
          isAdministrator,
          listedIn: listedIn.get(rule.id) ?? new Set(),
        },
      }
    },
  }
}

function listsByRule(
  listings: readonly Listing[],
): ReadonlyMap<number, ReadonlySet<ProtectionList>> {
  const lists = new Map<number, Set<ProtectionList>>()
  for (const { protection_id, list } of listings) {
    const known = lists.get(protection_id)
    if (known) known.add(list)
    else lists.set(protection_id, new Set([list]))
  }
  return lists
}

/** What is in force for a branch, as its readers see it. */
export interface BranchRuleView {
  /** Undefined without one. */
  readonly rule: BranchRule | undefined
  readonly userCanPush: boolean
  readonly userCanMerge: boolean
}

/** What is in force for a branch, for somebody who may write to the repository or not. */
export function viewProtection(
  rules: BranchRules,
  branch: string,
  mayWrite: boolean,
): BranchRuleView {
  const inForce = rules.inForceFor(branch)
  if (!inForce) return { rule: undefined, userCanPush: mayWrite, userCanMerge: mayWrite }
  const { rule, pusher } = inForce
  return { rule, userCanPush: mayPush(rule, pusher), userCanMerge: mayMerge(rule, pusher) }
}
