import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import type { Caller } from '../../core/access.ts'
import type { TeamView } from '../../organizations/teams.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import { seenTeams, viewTeams } from '../../repositories/access/team-repositories.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { OpenPull } from '../heads/open-pulls.ts'
import type { PullRequest, Review } from '../schema.ts'
import { isFresh } from './review-rules.ts'
import { listReviewRequests, type ReviewViewer } from './reviews.rows.ts'

/** A review, as a caller who may see it sees it. */
export interface ReviewView {
  readonly open: OpenPull
  readonly review: Review
  /** Undefined for a request to a team. */
  readonly reviewer: Owner | undefined
  /** The requested team. Undefined for a review by a user. */
  readonly team: TeamView | undefined
  readonly isStale: boolean
}

/** The requested reviewers of a pull request that a caller may see. */
interface RequestedReviewers {
  readonly users: readonly Owner[]
  readonly teams: readonly TeamView[]
}

/** Returns the viewer for a list of reviews. */
export async function reviewViewer(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
): Promise<ReviewViewer> {
  const teams = (await seenTeams(app, caller, open))?.filter
  return { userId: caller.kind === 'user' ? caller.user.id : undefined, teams }
}

/** Returns the view of reviews for a caller that may see them. */
export async function viewReviews(
  app: ReposApp,
  caller: Caller,
  open: OpenPull,
  reviews: readonly Review[],
): Promise<ReviewView[]> {
  const reviewers = await findOwnersByIds(app.db, reviewerIdsOf(reviews))
  const teams = await viewTeams(app, caller, open, teamIdsOf(reviews))
  return reviews.map((review) => ({
    open,
    review,
    reviewer:
      review.team_id === null ? (reviewers.get(review.reviewer_id ?? 0) ?? GHOST) : undefined,
    team: teams.get(review.team_id ?? 0),
    isStale: isStale(review, open.pull),
  }))
}

/** Returns the view of a review for a caller that may see it. */
export async function viewReview(
  app: ReposApp,
  caller: Caller,
  open: OpenPull,
  review: Review,
): Promise<ReviewView> {
  const [view] = await viewReviews(app, caller, open, [review])
  if (!view) throw new Error('a review has no view')
  return view
}

/**
 * Returns whether the head proposes another change than the reviewed one. For a closed or merged
 * pull request, the last known result applies.
 */
function isStale(review: Review, { state, head_commit }: PullRequest): boolean {
  if (review.state === 'PENDING' || review.state === 'REQUEST_REVIEW') return false
  return state === 'OPEN' ? !isFresh(review, head_commit) : review.stale === 1
}

/**
 * Returns the requested reviewers of pull requests that a caller may see, by the ids of the pull
 * requests.
 */
export async function viewReviewRequests(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  pullIds: readonly number[],
): Promise<ReadonlyMap<number, RequestedReviewers>> {
  const requests = await listReviewRequests(app.db, pullIds)
  const users = await findOwnersByIds(app.db, reviewerIdsOf(requests))
  const teams = await viewTeams(app, caller, open, teamIdsOf(requests))
  const requested = new Map(
    pullIds.map((id) => [id, { users: [] as Owner[], teams: [] as TeamView[] }]),
  )
  for (const { pull_request_id, reviewer_id, team_id } of requests) {
    const [user, team] = [users.get(reviewer_id ?? 0), teams.get(team_id ?? 0)]
    if (user) requested.get(pull_request_id)?.users.push(user)
    if (team) requested.get(pull_request_id)?.teams.push(team)
  }
  return requested
}

function reviewerIdsOf(reviews: readonly Review[]): number[] {
  return [...new Set(reviews.flatMap(({ reviewer_id }) => reviewer_id ?? []))]
}

function teamIdsOf(reviews: readonly Review[]): number[] {
  return [...new Set(reviews.flatMap(({ team_id }) => team_id ?? []))]
}
