import { suffices } from '../../core/levels.ts'
import type { UnitAccess } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { findListings, type Listing, listBranchProtections } from './branch-protections.rows.ts'
import { mayPassQueue } from './merge-queue-settings.ts'
import {
  type BranchRule,
  effectiveRule,
  inOrder,
  mayBypass,
  mayMerge,
  mayPush,
  type RuleInForce,
} from './protection-rules.ts'
import type { ProtectionList } from './schema.ts'

/** The branch protections of a repository, as they apply to one user. */
export interface BranchRules {
  /** Returns the rule in force for a branch, if there is one. */
  inForceFor(branch: string): RuleInForce | undefined
}

/**
 * Reads the branch protections of a repository for one user.
 *
 * @param userId undefined for an anonymous caller
 * @param units the access levels of the user
 * @param kind what updates the branch in the name of the user. A deploy key is no administrator.
 */
export async function readBranchRules(
  app: ReposApp,
  repositoryId: number,
  userId: number | undefined,
  units: Pick<UnitAccess, 'code'>,
  kind: 'user' | 'deploy key' = 'user',
): Promise<BranchRules> {
  const rules = inOrder(await listBranchProtections(app.db, repositoryId))
  if (rules.length === 0) return { inForceFor: () => undefined }
  const listings = userId === undefined ? [] : await findListings(app.db, repositoryId, userId)
  const listedIn = listsByRule(listings)
  const mayWrite = userId !== undefined && suffices(units.code, 'write')
  const isAdministrator = kind === 'user' && userId !== undefined && suffices(units.code, 'admin')
  return {
    inForceFor(branch) {
      const rule = effectiveRule(rules, branch)
      if (!rule) return undefined
      return {
        rule,
        pusher: {
          kind,
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

/** The protection in force for a branch, as its readers see it. */
export interface BranchRuleView {
  /** Undefined for an unprotected branch. */
  readonly rule: BranchRule | undefined
  readonly userCanPush: boolean
  readonly userCanMerge: boolean
  /** Whether the user may merge at once into a branch with a merge queue. */
  readonly userCanPassQueue: boolean
}

/** Returns the protection in force for a branch and what the user may do. */
export function viewProtection(
  rules: BranchRules,
  branch: string,
  mayWrite: boolean,
): BranchRuleView {
  const inForce = rules.inForceFor(branch)
  if (!inForce)
    return {
      rule: undefined,
      userCanPush: mayWrite,
      userCanMerge: mayWrite,
      userCanPassQueue: false,
    }
  const { rule, pusher } = inForce
  const userCanMerge = mayMerge(rule, pusher)
  const isPassing = mayPassQueue(rule, pusher, mayBypass(rule, pusher))
  return {
    rule,
    userCanPush: mayPush(rule, pusher),
    userCanMerge,
    userCanPassQueue: rule.enable_merge_queue && userCanMerge && isPassing,
  }
}
