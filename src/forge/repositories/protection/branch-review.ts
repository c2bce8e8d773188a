import { GitError } from '../../../platform/git/core/errors.ts'
import { HEADS, type RefUpdate } from '../../../platform/git/core/ref-names.ts'
import type { Reason } from '../../core/errors.ts'
import { findUnverified } from '../commits/commit-verification.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { type FactSource, gatherFacts } from './branch-facts.ts'
import type { BranchRules } from './branch-rules.ts'
import {
  type BranchChange,
  checkChange,
  factsNeeded,
  type MergeOfPull,
  NO_FACTS,
  type RuleInForce,
} from './protection-rules.ts'
import type { MergePush } from './pull-pushes.ts'

/** The reason why a branch update is refused. */
export interface BranchJudgement {
  /** Message to the pusher. */
  readonly text: string
  readonly reason: Extract<Reason, 'BRANCH_PROTECTED' | 'REF_REFUSED'>
}

/**
 * The time that Git has to gather the facts about one push. Each branch takes one or two Git
 * processes.
 */
const MAX_EXAMINATION_MS = 30_000

/**
 * The time for matching branch names with rules in one push. A user can choose both so that
 * matching is slow.
 */
const MAX_MATCHING_MS = 10_000

/**
 * Returns a function that checks each branch update of one push against the branch protections. It
 * asks Git only for the facts that a rule needs, and for none if no rule applies.
 *
 * @param quarantine folder of the quarantined objects of the push; undefined for objects that the
 *   server stored itself
 * @param merge the merge of a pull request that the push is part of
 * @returns a function that returns undefined if the update is allowed, and throws SERVER_BUSY or
 *   GIT_TIMEOUT
 */
export function branchJudge(
  app: ReposApp,
  { id: repositoryId, default_branch }: Repository,
  rules: BranchRules,
  quarantine: string | undefined,
  merge?: MergePush,
): (update: RefUpdate) => Promise<BranchJudgement | undefined> {
  const source: FactSource = {
    repositories: app.git,
    repositoryId,
    quarantine,
    deadline: performance.now() + MAX_EXAMINATION_MS,
    findUnverified: (commits) => findUnverified(app, commits),
  }
  let matchingMs = 0
  return async ({ name, from, to }) => {
    if (!name.startsWith(HEADS)) return undefined
    const branch = name.slice(HEADS.length)
    const kind = to === undefined ? 'delete' : from === undefined ? 'create' : 'update'
    const pushed = { branch, kind, isDefault: branch === default_branch } as const
    if (matchingMs > MAX_MATCHING_MS) {
      return {
        text: 'it takes too long to check so many branches for protection',
        reason: 'REF_REFUSED',
      }
    }
    const began = performance.now()
    const inForce = rules.inForceFor(branch)
    matchingMs += performance.now() - began
    const change: BranchChange = merge
      ? { ...pushed, merge: await stateOf(merge, inForce) }
      : pushed
    const needed = inForce && factsNeeded(inForce, change)
    let facts = NO_FACTS
    if (to !== undefined && needed && (needed.ancestry || needed.signatures || needed.files)) {
      try {
        facts = await gatherFacts(source, inForce.rule, { from, to }, needed)
      } catch (error) {
        if (!(error instanceof GitError && error.kind === 'NOT_FOUND')) throw error
        return {
          text: `branch ${branch} moves from the commit that it is at, and to a commit`,
          reason: 'REF_REFUSED',
        }
      }
    }
    const text = checkChange(inForce, change, facts)
    if (text === undefined) return undefined
    return { text, reason: inForce ? 'BRANCH_PROTECTED' : 'REF_REFUSED' }
  }
}

/** Returns the state of a merge. Without a rule, every pull request is ready. */
async function stateOf(
  { pull, problemOf }: MergePush,
  inForce: RuleInForce | undefined,
): Promise<MergeOfPull> {
  return { number: pull.number, problem: inForce && (await problemOf(inForce.rule)) }
}
