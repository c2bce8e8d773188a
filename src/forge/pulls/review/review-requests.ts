import type { Tx } from '../../../platform/database/schema.ts'
import { findUserByUsername, maySeeOwner, userAsOwner } from '../../accounts/users/owners.ts'
import { type ConversationNeed, checkConversation } from '../../conversations/conversation-needs.ts'
import { insertParticipants } from '../../conversations/participants.rows.ts'
import {
  recordTimeline,
  recordTimelineEvents,
  reviewerValue,
} from '../../conversations/timeline.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import { type ConversationName, nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { Team } from '../../organizations/schema.ts'
import { listTeams } from '../../organizations/teams.rows.ts'
import { accessOfUser, type OpenRepository } from '../../repositories/access/permissions.ts'
import { seenTeams } from '../../repositories/access/team-repositories.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { isPoster, type OpenPull, openPull } from '../heads/open-pulls.ts'
import type { PullRequest, Review } from '../schema.ts'
import { changeReviews, type ReviewChange } from './review-changes.ts'
import { findOfficials, teamReads } from './review-rules.ts'
import { findRule, homeOf, restoreVotes } from './review-states.ts'
import { type ReviewView, viewReviews } from './review-views.ts'
import * as rows from './reviews.rows.ts'

/** Maximum number of requested reviewers of a pull request, and of names in one request. */
export const MAX_REVIEWERS = 100

/** Users and teams to review a pull request. */
export interface Reviewers {
  readonly users: readonly User[]
  readonly teams: readonly Team[]
}

/** Names of users and teams to review a pull request. */
interface ReviewerNames {
  /** Names are case-insensitive. */
  readonly users: readonly string[]
  readonly teams: readonly string[]
}

/**
 * Requests reviews from users and teams. The poster and users with write access to pull requests
 * may do so.
 */
export async function requestReviewers(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  names: ReviewerNames,
): Promise<ReviewView[]> {
  const open = await openPull(app, caller, name, 'take part')
  await checkConversation(app.db, caller, open, open.pull, 'no block')
  if (!maySelect(caller, open)) throw new DomainError('REVIEW_REQUEST_DENIED')
  checkOpen(open.pull)
  const reviewers = await findReviewers(app, caller, open, open.pull.poster_id, names)
  if (reviewers.users.length + reviewers.teams.length === 0) return []
  const requests = await changeReviews(
    app,
    caller,
    open,
    {
      ...requestChange('review_requested', 'no block', reviewers.users),
      concerns: () => ({
        everybody: false,
        reviewers: reviewers.users.map(({ id }) => id),
        reviewerTeams: reviewers.teams.map(({ id }) => id),
      }),
    },
    async (tx, pull) => {
      checkOpen(pull)
      return requestReviews(app, tx, caller.user.id, pull, reviewers)
    },
  )
  return viewReviews(app, caller, open, requests)
}

/**
 * Withdraws review requests. Those who may request reviews may do so, and a user may withdraw the
 * only request to themselves. Earlier reviews of these reviewers count again.
 */
export async function withdrawReviewRequests(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  names: ReviewerNames,
): Promise<void> {
  const open = await openPull(app, caller, name, 'take part')
  const named = await findNamed(app, caller, open, names)
  const areOnlyOwn =
    named.teams.length === 0 && named.users.every(({ id }) => id === caller.user.id)
  if (!areOnlyOwn && !maySelect(caller, open)) throw new DomainError('REVIEW_REQUEST_DENIED')
  checkOpen(open.pull)
  const requests = await rows.listReviewRequests(app.db, [open.pull.id])
  const users = named.users.filter(({ id }) =>
    requests.some(({ reviewer_id }) => reviewer_id === id),
  )
  const teams = named.teams.filter(({ id }) => requests.some(({ team_id }) => team_id === id))
  if (users.length + teams.length === 0) return
  const change = requestChange('review_request_removed', 'nothing', users)
  await changeReviews(app, caller, open, change, async (tx, pull) => {
    checkOpen(pull)
    const asked = [
      ...users.map(({ id: userId }) => ({ userId })),
      ...teams.map(({ id: teamId }) => ({ teamId })),
    ]
    for (const reviewer of asked) {
      if (!(await rows.deleteReviewRequest(tx, pull.id, reviewer))) continue
      const event = { type: 'review_request', oldValue: reviewerValue(reviewer) } as const
      await recordTimeline(app, tx, caller.user.id, pull.id, event)
    }
    await restoreVotes(
      tx,
      pull,
      users.map(({ id }) => id),
    )
  })
}

/**
 * @param action the name in the events of webhooks.
 * @param users without those, the event is about teams.
 */
function requestChange(
  action: string,
  needs: ConversationNeed,
  users: readonly Pick<User, 'id'>[],
): ReviewChange<unknown> {
  const type = 'pull_request_review_request'
  const told =
    users.length === 0
      ? [{ type, action } as const]
      : users.map(({ id: reviewer }) => ({ type, action, reviewer }) as const)
  return { type: 'PULL_REQUEST_REVIEW_REQUESTED', needs, told: () => told }
}

function maySelect(caller: SignedIn, { pull, access }: OpenPull): boolean {
  return isPoster(caller, pull) || suffices(access, 'write')
}

function checkOpen({ state }: PullRequest): void {
  if (state !== 'OPEN') throw new DomainError('REVIEW_REQUEST_CLOSED')
}

/**
 * Finds the users and teams with some names, without duplicates.
 *
 * @param open the base repository.
 * @param posterId Null if the account was deleted.
 */
export async function findReviewers(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  posterId: number | null,
  names: ReviewerNames,
): Promise<Reviewers> {
  const named = await findNamed(app, caller, open, names)
  const { repository, owner } = open
  for (const user of named.users) {
    const isFit = user.id !== posterId && (await mayReview(app, user, open))
    if (!isFit) throw new DomainError('INVALID_REVIEWER', { name: user.username })
  }
  for (const team of named.teams) {
    const isFit = owner.id === team.organization_id && (await teamReads(app.db, team, repository))
    if (!isFit) throw new DomainError('INVALID_REVIEWER', { name: team.name })
  }
  return named
}

/** Returns whether a user can be asked for a review. */
export async function mayReview(
  app: ReposApp,
  user: User,
  { repository, owner }: OpenRepository,
): Promise<boolean> {
  const { code, pulls } = await accessOfUser(app, user, repository, owner)
  return user.state === 'NORMAL' && suffices(pulls, 'read') && suffices(code, 'read')
}

async function findNamed(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  names: ReviewerNames,
): Promise<Reviewers> {
  if (names.users.length + names.teams.length > MAX_REVIEWERS) throw tooMany()
  const users = new Map<number, User>()
  for (const name of names.users) {
    const user = await findUserByUsername(app.db, name)
    if (!user || !(await isKnown(app, caller, open, user))) throw notFound('user', name)
    users.set(user.id, user)
  }
  const teams = new Map<number, Team>()
  const seen = names.teams.length === 0 ? undefined : await seenTeams(app, caller, open)
  for (const name of names.teams) {
    const [team] = seen
      ? await listTeams(app.db, { ...seen.filter, nameKey: nameKey(name) }, 0, 1)
      : []
    if (!team) throw notFound('team', name)
    teams.set(team.id, team)
  }
  return { users: [...users.values()], teams: [...teams.values()] }
}

/**
 * Returns whether the caller may see a user. Users with a hidden profile are visible where they
 * participate.
 */
async function isKnown(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  user: User,
): Promise<boolean> {
  return (await maySeeOwner(app, caller, userAsOwner(user))) || mayReview(app, user, open)
}

function notFound(kind: 'user' | 'team', name: string): DomainError {
  return new DomainError('REVIEWER_NOT_FOUND', { kind, name: metadataText(name) })
}

function tooMany(): DomainError {
  return new DomainError('TOO_MANY_REVIEWERS', { limit: String(MAX_REVIEWERS) })
}

/**
 * Requests reviews in the transaction of the change that causes the requests, and tells the timeline.
 * Earlier reviews of the requested reviewers no longer count. Existing requests are not repeated.
 *
 * @param actorId who makes the change.
 * @returns the new requests.
 */
export async function requestReviews(
  app: ReposApp,
  tx: Tx,
  actorId: number,
  pull: PullRequest,
  reviewers: Reviewers,
): Promise<Review[]> {
  const { users, teams } = reviewers
  if (users.length + teams.length === 0) return []
  const present = await rows.listReviewRequests(tx, [pull.id])
  const userIds = users.map(({ id }) => id)
  const teamIds = teams.map(({ id }) => id)
  const officials = await findOfficials(
    tx,
    await homeOf(tx, pull),
    await findRule(tx, pull),
    userIds,
    teamIds,
  )
  const now = nowSeconds(app.clock)
  const request = {
    pull_request_id: pull.id,
    state: 'REQUEST_REVIEW',
    commit_id: pull.head_commit,
    body: '',
  } as const
  const times = { compared_head: '', create_time: now, update_time: now }
  const asked: Review[] = []
  const ask = async (whom: Pick<Review, 'reviewer_id' | 'team_id'>, isOfficial: boolean) => {
    const official = Number(isOfficial)
    const known = present.find(
      (r) => r.reviewer_id === whom.reviewer_id && r.team_id === whom.team_id,
    )
    if (known) await rows.setOfficialRequest(tx, known.id, isOfficial)
    asked.push(
      known
        ? { ...known, official }
        : await rows.insertReview(tx, { ...request, ...times, ...whom, official }),
    )
  }
  for (const id of userIds) {
    await rows.clearOfficialVotes(tx, pull.id, id)
    await ask({ reviewer_id: id, team_id: null }, officials.userIds.has(id))
  }
  for (const id of teamIds) await ask({ reviewer_id: null, team_id: id }, officials.teamIds.has(id))
  if (new Set([...present, ...asked].map(({ id }) => id)).size > MAX_REVIEWERS) throw tooMany()
  await insertParticipants(tx, pull.id, userIds)
  const added = asked.filter(({ id }) => present.every((request) => request.id !== id))
  const events = added.map((request) => ({
    type: 'review_request' as const,
    newValue: reviewerValue(reviewerOf(request)),
  }))
  await recordTimelineEvents(app, tx, { conversationId: pull.id, actorId }, events)
  return asked
}

function reviewerOf({ reviewer_id, team_id }: Pick<Review, 'reviewer_id' | 'team_id'>) {
  return team_id === null ? { userId: reviewer_id ?? 0 } : { teamId: team_id }
}
