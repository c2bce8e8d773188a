import type { Vote } from '../../../storage/pulls/reviews.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import { DomainError } from '../../core/errors.ts'
import type { BranchRule } from '../../repos/protection/protection-rules.ts'

/**
 * What reviews are, and what they count for. Everything in here is a pure function of its
 * arguments; who has a right to say something is found out in `official-reviewers.ts`, and whether
 * something else is proposed since in `review-states.ts`.
 */

/** What becomes of a review. */
export type ReviewEvent = 'APPROVED' | 'REQUEST_CHANGES' | 'COMMENT' | 'PENDING'

const EVENTS: readonly ReviewEvent[] = ['APPROVED', 'REQUEST_CHANGES', 'COMMENT']

/**
 * Reads what a client asks for. Any other word leaves a review pending, as in compatible systems.
 */
export function readEvent(text: string): ReviewEvent {
  return EVENTS.find((event) => event === text) ?? 'PENDING'
}

/** Whether a review says yes or no, and not just something. */
export function isVote({ state }: Pick<Vote, 'state'>): boolean {
  return state === 'APPROVED' || state === 'REQUEST_CHANGES'
}

/** A review as it would be. */
export interface ReviewOutline {
  readonly event: ReviewEvent
  readonly body: string
  readonly hasComments: boolean
  /** Whether the pull request is the reviewer's own. */
  readonly isOwn: boolean
  readonly state: PullRequest['state']
}

/**
 * Lets nobody judge what is their own or what is decided already, and nobody say nothing, save for
 * an approval.
 *
 * @throws OWN_PULL_APPROVED, OWN_PULL_REJECTED, REVIEW_BODY_REQUIRED, REVIEW_ON_CLOSED_PULL
 */
export function checkReview({ event, body, hasComments, isOwn, state }: ReviewOutline): void {
  if (isOwn && event === 'APPROVED') throw new DomainError('OWN_PULL_APPROVED')
  if (isOwn && event === 'REQUEST_CHANGES') throw new DomainError('OWN_PULL_REJECTED')
  const needsNoBody = event === 'APPROVED' || (event === 'COMMENT' && hasComments)
  if (!needsNoBody && body.trim() === '') throw new DomainError('REVIEW_BODY_REQUIRED', { event })
  if (state !== 'OPEN' && isVote({ state: event })) throw new DomainError('REVIEW_ON_CLOSED_PULL')
}

/** Whether a review still says something of what a head proposes, as far as that is known. */
export function isFresh(
  { stale, compared_head }: Pick<Vote, 'stale' | 'compared_head'>,
  head: string,
): boolean {
  return compared_head === head && stale === 0
}

/** Whose word counts. */
export interface Officials {
  readonly userIds: ReadonlySet<number>
  readonly teamIds: ReadonlySet<number>
}

/** What the reviews of a pull request come down to. */
export interface Approvals {
  readonly approvals: number
  readonly rejections: number
  /** Reviews that somebody is asked for whose word would count. */
  readonly officialRequests: number
  /**
   * Approvals by whose word something else was approved than what is proposed now, whether or not
   * they count.
   */
  readonly staleApprovals: number
  /** Whose approvals count, in the order in which they gave them. */
  readonly approverIds: readonly number[]
}

/**
 * Counts reviews for a rule.
 *
 * An approval of which it is not known what it says of the head never counts where that matters:
 * where the rule leaves stale ones out, or dismisses them, which happens when they are compared.
 *
 * @param reviews that were official when they were made, in the order in which they were submitted.
 * @param head of the pull request.
 * @param rule the rule for its base. Undefined without one.
 * @param officials who still has the right.
 */
export function evaluateApprovals(
  reviews: readonly Vote[],
  head: string,
  rule: Pick<BranchRule, 'ignore_stale_approvals' | 'dismiss_stale_approvals'> | undefined,
  { userIds, teamIds }: Officials,
): Approvals {
  const counting = reviews.filter(
    ({ official, dismissed, reviewer_id, team_id }) =>
      official === 1 &&
      dismissed === 0 &&
      ((reviewer_id !== null && userIds.has(reviewer_id)) ||
        (team_id !== null && teamIds.has(team_id))),
  )
  const approvals = counting.filter(({ state }) => state === 'APPROVED')
  const standing = approvals.filter((review) => {
    if (isFresh(review, head)) return true
    if (rule?.ignore_stale_approvals) return false
    return !rule?.dismiss_stale_approvals || review.compared_head === head
  })
  return {
    approvals: standing.length,
    rejections: counting.filter(({ state }) => state === 'REQUEST_CHANGES').length,
    officialRequests: counting.filter(({ state }) => state === 'REQUEST_REVIEW').length,
    staleApprovals: approvals.filter((review) => !isFresh(review, head)).length,
    approverIds: standing.flatMap(({ reviewer_id }) => reviewer_id ?? []),
  }
}

/**
 * Of all votes those that count for one each: the latest of everybody whose word counts.
 *
 * @param votes in the order in which they were submitted.
 * @param askedAgain who is to review once more, whose earlier vote counts no longer.
 */
export function officialVotes(
  votes: readonly Vote[],
  { userIds }: Officials,
  askedAgain: ReadonlySet<number>,
): ReadonlySet<number> {
  const latest = new Map<number, number>()
  for (const { id, reviewer_id } of votes) {
    if (reviewer_id !== null && userIds.has(reviewer_id) && !askedAgain.has(reviewer_id))
      latest.set(reviewer_id, id)
  }
  return new Set(latest.values())
}
