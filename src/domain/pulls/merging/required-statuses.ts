import type { CommitStatus } from '../../../storage/schema/repos.ts'
import { compileGlob } from '../../repos/protection/globs.ts'
import type { BranchRule } from '../../repos/protection/protection-rules.ts'
import { combineStatuses } from '../../repos/reading/commit-statuses.ts'

/** The latest status of a context of a commit. */
export type ContextState = Pick<CommitStatus, 'context' | 'state'>

/** What the statuses that a rule wants come down to. */
export type StatusVerdict = 'success' | 'pending' | 'failure'

/**
 * Judges the statuses of a commit by a rule that wants some of them.
 *
 * Each pattern has to find a context, and whatever it finds has to be a success or skipped. A
 * pattern that cannot be used is left out; without patterns all statuses of the commit together
 * have to be a success, and there has to be one.
 *
 * @param latest the latest status of each context.
 */
export function judgeStatuses(
  { status_check_contexts }: Pick<BranchRule, 'status_check_contexts'>,
  latest: readonly ContextState[],
): StatusVerdict {
  const matchers = status_check_contexts.flatMap((pattern) => compileGlob(pattern, '') ?? [])
  if (matchers.length === 0) return combineStatuses(new Set(latest.map(({ state }) => state)))
  const verdicts = matchers.map((matches) =>
    combineStatuses(
      new Set(latest.flatMap(({ context, state }) => (matches(context) ? state : []))),
    ),
  )
  if (verdicts.includes('failure')) return 'failure'
  return verdicts.includes('pending') ? 'pending' : 'success'
}
