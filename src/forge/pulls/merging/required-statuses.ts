import { compileGlob } from '../../core/globs.ts'
import { combineStatuses } from '../../repositories/commits/commit-statuses.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import type { CommitStatus } from '../../repositories/schema.ts'

/** The latest status of a context of a commit. */
export type ContextState = Pick<CommitStatus, 'context' | 'state'>

/** The combined result of the statuses that a rule requires. */
export type StatusResult = 'success' | 'pending' | 'failure'

/**
 * Evaluates the statuses of a commit by the patterns of a rule.
 *
 * Each pattern must match at least one context, and all contexts that it matches must be `success`
 * or `skipped`. Invalid patterns are ignored. Without patterns, the commit must have at least one
 * status, and the combined status must be `success`.
 *
 * @param latest the latest status of each context.
 */
export function evaluateStatuses(
  { status_check_contexts }: Pick<BranchRule, 'status_check_contexts'>,
  latest: readonly ContextState[],
): StatusResult {
  const matchers = status_check_contexts.flatMap((pattern) => compileGlob(pattern, '') ?? [])
  if (matchers.length === 0) return combineStatuses(new Set(latest.map(({ state }) => state)))
  const results = matchers.map((matches) =>
    combineStatuses(
      new Set(latest.flatMap(({ context, state }) => (matches(context) ? state : []))),
    ),
  )
  if (results.includes('failure')) return 'failure'
  return results.includes('pending') ? 'pending' : 'success'
}
