import { type Concerns, newMentions } from '../heads/pull-notices.ts'
import type { PullRequest, Review } from '../schema.ts'

/** The users that an edit of a pull request names. */
export type EditConcerns = Omit<Concerns, 'everybody'>

/** The users whom an edit assigns. */
export interface Assignment {
  readonly before: readonly number[]
  /** Undefined for no change. */
  readonly after: readonly number[] | undefined
}

/**
 * Returns whom an edit of a pull request names.
 *
 * @param asked the requests for reviews that the edit causes.
 */
export function editConcerns(
  before: Pick<PullRequest, 'body'>,
  after: Pick<PullRequest, 'body'>,
  assignment: Assignment,
  asked: readonly Pick<Review, 'reviewer_id' | 'team_id'>[],
): EditConcerns {
  return {
    mentioned: before.body === after.body ? [] : newMentions([after.body], before.body),
    assignees: (assignment.after ?? []).filter((id) => !assignment.before.includes(id)),
    reviewers: asked.flatMap(({ reviewer_id }) => reviewer_id ?? []),
    reviewerTeams: asked.flatMap(({ team_id }) => team_id ?? []),
  }
}
