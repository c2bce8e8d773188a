import { listOfficial } from '../../../storage/pulls/reviews.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import type { ReposApp } from '../../repos/ports.ts'
import type { BranchRule } from '../../repos/protection/protection-rules.ts'
import { findOfficials, type Home } from './official-reviewers.ts'
import { type Approvals, evaluateApprovals } from './review-rules.ts'
import { compareReviews } from './review-states.ts'

/**
 * What the reviews of a pull request come down to at this moment, for a rule.
 *
 * A review counts while whoever made it has the right, and as long as it is known to be about what
 * `pull.head_commit` proposes, where the rule wants that.
 *
 * @param pull as it was read. What is true of its head says nothing of a later one.
 * @param rule for its base; undefined without one.
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
