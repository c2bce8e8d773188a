import type { ReposApp } from '../../repositories/ports.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import type { PullRequest } from '../schema.ts'
import { findOfficials, type Home } from './official-reviewers.ts'
import { type Approvals, evaluateApprovals } from './review-rules.ts'
import { compareReviews } from './review-states.ts'
import { listOfficial } from './reviews.rows.ts'

/**
 * Counts the votes of the present reviews of a pull request under a rule.
 *
 * A review counts while its author has the right to vote and, if the rule requires it, while it is
 * known to be about the change of `pull.head_commit`.
 *
 * @param pull the pull request as it was read. The result applies to its head only.
 * @param rule the rule for its base. Undefined without one.
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function countApprovals(
  app: ReposApp,
  home: Home,
  pull: PullRequest,
  rule: BranchRule | undefined,
): Promise<Approvals> {
  await compareReviews(app, pull, 'official')
  const reviews = await listOfficial(app.db, pull.id)
  const userIds = [...new Set(reviews.flatMap(({ reviewer_id }) => reviewer_id ?? []))]
  const teamIds = reviews.flatMap(({ team_id }) => team_id ?? [])
  const officials = await findOfficials(app.db, home, rule, userIds, teamIds)
  return evaluateApprovals(reviews, pull.head_commit, rule, officials)
}
