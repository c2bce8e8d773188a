import type { Db } from '../../../platform/database/schema.ts'
import { findUsersByIds } from '../../accounts/users/users.rows.ts'
import { DomainError } from '../../core/errors.ts'
import { type RepositoryAccess, suffices } from '../../core/levels.ts'
import type { Team } from '../../organizations/schema.ts'
import { unitLevels } from '../../organizations/team-rights.ts'
import { findMembersOf, findTeamsAt } from '../../organizations/teams.rows.ts'
import {
  accessOfUsers,
  type OpenRepository,
  type Unit,
} from '../../repositories/access/permissions.ts'
import { findListed } from '../../repositories/protection/branch-protections.rows.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import type { Repository } from '../../repositories/schema.ts'
import type { PullRequest } from '../schema.ts'
import type { Vote } from './reviews.rows.ts'

/**
 * The states of reviews and their effect on approvals. All functions in this file are pure.
 * `official-reviewers.ts` finds the official reviewers, and `review-states.ts` finds out whether
 * the head has changed since a review.
 */

/** The outcome of a review. */
export type ReviewEvent = 'APPROVED' | 'REQUEST_CHANGES' | 'COMMENT' | 'PENDING'

const EVENTS: readonly ReviewEvent[] = ['APPROVED', 'REQUEST_CHANGES', 'COMMENT']

/**
 * Parses the event of a request. Any unknown word leaves the review pending, as in compatible
 * systems.
 */
export function readEvent(text: string): ReviewEvent {
  return EVENTS.find((event) => event === text) ?? 'PENDING'
}

/** Returns whether a review approves or rejects. */
export function isVote({ state }: Pick<Vote, 'state'>): boolean {
  return state === 'APPROVED' || state === 'REQUEST_CHANGES'
}

/** The facts about a review that decide whether it is allowed. */
export interface ReviewOutline {
  readonly event: ReviewEvent
  readonly body: string
  readonly hasComments: boolean
  /** Whether the reviewer is the poster of the pull request. */
  readonly isOwn: boolean
  readonly state: PullRequest['state']
}

/**
 * Checks that a review is not a vote of the poster on their own pull request or a vote on a closed
 * pull request, and that it has content unless it approves.
 */
export function checkReview({ event, body, hasComments, isOwn, state }: ReviewOutline): void {
  if (isOwn && event === 'APPROVED') throw new DomainError('OWN_PULL_APPROVED')
  if (isOwn && event === 'REQUEST_CHANGES') throw new DomainError('OWN_PULL_REJECTED')
  const needsNoBody = event === 'APPROVED' || (event === 'COMMENT' && hasComments)
  if (!needsNoBody && body.trim() === '') throw new DomainError('REVIEW_BODY_REQUIRED', { event })
  if (state !== 'OPEN' && isVote({ state: event })) throw new DomainError('REVIEW_ON_CLOSED_PULL')
}

/** Returns whether a review is known to be about the change that a head proposes. */
export function isFresh(
  { stale, compared_head }: Pick<Vote, 'stale' | 'compared_head'>,
  head: string,
): boolean {
  return compared_head === head && stale === 0
}

/** The users and teams that are official reviewers. */
interface Officials {
  readonly userIds: ReadonlySet<number>
  readonly teamIds: ReadonlySet<number>
}

/** A summary of the reviews of a pull request. */
export interface Approvals {
  readonly approvals: number
  readonly rejections: number
  /** Number of requests to official reviewers. */
  readonly officialRequests: number
  /** Number of approvals of an earlier change by official reviewers, whether or not they count. */
  readonly staleApprovals: number
  /** Users whose approvals count, in the order of the approvals. */
  readonly approverIds: readonly number[]
}

/**
 * Counts reviews under a rule.
 *
 * A review that has not been compared with the present head does not count if the rule ignores or
 * dismisses stale approvals.
 *
 * @param reviews the reviews that were official when they were submitted, in the order of
 *   submission.
 * @param head the head commit of the pull request.
 * @param rule the rule for its base. Undefined without one.
 * @param officials the present official reviewers.
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
 * Returns the latest vote of each official reviewer.
 *
 * @param votes in the order of submission.
 * @param askedAgain reviewers with a new request. Their earlier votes no longer count.
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

/** A repository and its owner. */
export type Home = Pick<OpenRepository, 'repository' | 'owner'>

/**
 * Returns which of some users and teams are official reviewers at present: those on the list of the
 * protection rule or, without a list, those with write access to the code. Excludes those without
 * read access to pull requests.
 *
 * @param rule the rule for the base of the pull request. Undefined without one.
 */
export async function findOfficials(
  db: Db,
  { repository, owner }: Home,
  rule: Pick<BranchRule, 'id' | 'enable_approvals_whitelist'> | undefined,
  userIds: readonly number[],
  teamIds: readonly number[],
): Promise<Officials> {
  const users = [...(await findUsersByIds(db, userIds)).values()].filter(
    ({ state }) => state === 'NORMAL',
  )
  const access = await accessOfUsers(db, users, repository, owner)
  const teams = await findTeamsAt(db, repository, teamIds)
  if (!rule?.enable_approvals_whitelist) {
    const writers = users.filter(({ id }) => suffices(access.get(id)?.code ?? 'none', 'write'))
    return {
      userIds: idsOf(writers),
      teamIds: idsOf(teams.filter((team) => suffices(teamLevel(team, 'code'), 'write'))),
    }
  }
  const listed = await findListed(db, repository.id)
  const isApproval = ({ protection_id, list }: { protection_id: number; list: string }) =>
    protection_id === rule.id && list === 'approvals'
  const listedTeams = idsOf(listed.teams.filter(isApproval))
  const named = new Set([
    ...idsOf(listed.users.filter(isApproval)),
    ...(await findMembersOf(db, [...listedTeams], userIds)),
  ])
  const readers = users.filter(({ id }) => suffices(access.get(id)?.pulls ?? 'none', 'read'))
  return {
    userIds: idsOf(readers.filter(({ id }) => named.has(id))),
    teamIds: idsOf(teams.filter(({ id }) => listedTeams.has(id))),
  }
}

/** Returns the access level of a team to a unit of a repository that is assigned to the team. */
function teamLevel(team: Pick<Team, 'permission' | 'units'>, unit: Unit): RepositoryAccess {
  if (team.permission === 'admin' || team.permission === 'owner') return team.permission
  return unitLevels(team)[`repo.${unit}`] ?? 'none'
}

function idsOf(items: readonly { readonly id: number }[]): ReadonlySet<number> {
  return new Set(items.map(({ id }) => id))
}

/** Returns whether a team may read the pull requests of a repository of its organisation. */
export async function teamReads(db: Db, team: Team, repository: Repository): Promise<boolean> {
  if (repository.private === 0) return true
  const [found] = await findTeamsAt(db, repository, [team.id])
  return found !== undefined && suffices(teamLevel(found, 'pulls'), 'read')
}
