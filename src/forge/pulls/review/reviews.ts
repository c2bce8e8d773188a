import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { checkLength } from '../../accounts/users/user-fields.ts'
import { newMentions } from '../../conversations/concerns.ts'
import { type ConversationNeed, checkConversation } from '../../conversations/conversation-needs.ts'
import { MAX_TEXT_CHARACTERS } from '../../conversations/issue-comments.ts'
import { checkRate, countContribution } from '../../conversations/rates.ts'
import { dismissalEvent, recordTimeline } from '../../conversations/timeline.ts'
import { actsAsAdministrator, type Caller, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { ConversationName, Page } from '../../core/names.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { isPoster, type OpenPull, openPull } from '../heads/open-pulls.ts'
import type { PullRequest, Review } from '../schema.ts'
import { type CommentDraft, insertComments, placeComments } from './comment-lines.ts'
import { changeReviews, type ReviewChange, rereadForReview } from './review-changes.ts'
import { checkReview, findOfficials, isVote, type ReviewEvent, readEvent } from './review-rules.ts'
import { compareReviews, findRule, homeOf, restoreVotes } from './review-states.ts'
import { type ReviewView, reviewViewer, viewReview, viewReviews } from './review-views.ts'
import { type ReviewedCommit, reviewedCommit } from './reviewed-commits.ts'
import * as rows from './reviews.rows.ts'
import { textsOfReview } from './reviews.rows.ts'

interface ReviewDraft {
  /** A word for `readEvent`. */
  readonly event: string
  readonly body: string
  /** Id of the reviewed commit. Empty for the head. */
  readonly commitId: string
  readonly comments: readonly CommentDraft[]
}

/** A review that a caller may see, with its pull request. */
export interface OpenReview extends OpenPull {
  readonly review: Review
}

/** A page of a list. */
interface ReviewPage {
  readonly reviews: readonly ReviewView[]
  /** Length of the whole list. */
  readonly total: number
}

/** Lists the reviews and review requests of a pull request that a caller may see, oldest first. */
export async function listReviews(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  page: Page,
): Promise<ReviewPage> {
  const open = await openPull(app, caller, name, 'read')
  await compareReviews(app, open.pull)
  const viewer = await reviewViewer(app, caller, open)
  const reviews = await rows.listReviews(app.db, open.pull.id, viewer, page.offset, page.limit)
  return {
    reviews: await viewReviews(app, caller, open, reviews),
    total: await rows.countReviews(app.db, open.pull.id, viewer),
  }
}

/** Returns one review that a caller may see. */
export async function getReview(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  id: number,
): Promise<ReviewView> {
  const open = await openPull(app, caller, name, 'read')
  await compareReviews(app, open.pull)
  return viewReview(app, caller, open, await findReview(app, caller, open, id))
}

/** Opens a review that a caller may see. */
export async function openReview(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  id: number,
  needed: 'read' | 'take part',
): Promise<OpenReview> {
  const open = await openPull(app, caller, name, needed)
  return { ...open, review: await findReview(app, caller, open, id) }
}

async function findReview(
  app: ReposApp,
  caller: Caller,
  open: OpenPull,
  id: number,
): Promise<Review> {
  const review = await rows.findReview(
    app.db,
    open.pull.id,
    await reviewViewer(app, caller, open),
    id,
  )
  if (!review) throw new DomainError('REVIEW_NOT_FOUND')
  return review
}

/**
 * Creates a review of a pull request that the caller may read. A pending review of the caller
 * becomes part of the new review.
 */
export async function createReview(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  draft: ReviewDraft,
): Promise<ReviewView> {
  const open = await openPull(app, caller, name, 'take part')
  await checkConversation(app.db, caller, open, open.pull, 'voice')
  const event = readEvent(draft.event)
  const { body } = draft
  checkLength('body', body, MAX_TEXT_CHARACTERS)
  await checkRate(app, app.db, { caller, open }, 'TEXT')
  const begun = await rows.findPendingReview(app.db, open.pull.id, caller.user.id)
  check(caller, open.pull, event, body, (begun?.comments_count ?? 0) + draft.comments.length)
  const commit = await reviewedCommit(app, open.pull, draft.commitId)
  const comments = await placeComments(app, open.repository.id, commit, draft.comments)

  const write = async (tx: Tx, pull: PullRequest, now: number) => {
    await countContribution(app, tx, { caller, open }, 'TEXT')
    const { id } = await putPending(tx, caller, pull, {
      about: aboutCommit(open.pull, pull, commit),
      body,
      now,
    })
    await insertComments(tx, caller, id, comments, now)
    const pending = present(await rows.findReviewById(tx, id))
    check(caller, pull, event, body, pending.comments_count)
    return event === 'PENDING' ? pending : submit(tx, caller, pull, pending, { event, body, now })
  }
  const review =
    event === 'PENDING'
      ? await changePending(app, caller, open, 'voice', write)
      : await changeReviews(app, caller, open, SUBMITTED, write)
  return viewReview(app, caller, open, review)
}

/** The events of submitted reviews for webhooks of the forge. */
const EVENTS_OF_STATES = {
  APPROVED: 'pull_request_review_approved',
  REQUEST_CHANGES: 'pull_request_review_rejected',
  COMMENT: 'pull_request_review_comment',
} as const

const SUBMITTED: ReviewChange<Pick<Review, 'id' | 'state' | 'body'>> = {
  type: 'PULL_REQUEST_REVIEWED',
  needs: 'voice',
  told: ({ id, state }) =>
    state in EVENTS_OF_STATES
      ? [
          {
            type: EVENTS_OF_STATES[state as keyof typeof EVENTS_OF_STATES],
            action: 'reviewed',
            review: id,
          },
        ]
      : [],
  async concerns(tx, { id, body }) {
    const comments = await textsOfReview(tx, id)
    return { everybody: true, review: id, mentioned: newMentions([body, ...comments]) }
  },
}

/**
 * Submits a pending review. The review remains about the commit for which it was begun, because the
 * reviewer may not have seen later commits.
 *
 * @param body Empty for the stored text.
 */
export async function submitReview(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  id: number,
  { event: text, body }: Pick<ReviewDraft, 'event' | 'body'>,
): Promise<ReviewView> {
  const open = await openReview(app, caller, name, id, 'take part')
  await checkConversation(app.db, caller, open, open.pull, 'voice')
  checkPending(open.review)
  checkLength('body', body, MAX_TEXT_CHARACTERS)
  const event = readEvent(text)
  const review = await changeReviews(app, caller, open, SUBMITTED, async (tx, pull, now) => {
    const pending = present(await rows.findReviewById(tx, id))
    checkPending(pending)
    const said = body.trim() === '' ? pending.body : body
    check(caller, pull, event, said, pending.comments_count)
    if (event === 'PENDING') throw new DomainError('REVIEW_STAYS_PENDING')
    return submit(tx, caller, pull, pending, { event, body: said, now })
  })
  return viewReview(app, caller, open, review)
}

/**
 * Deletes a review and its comments, on behalf of the reviewer or an administrator of the instance.
 * Earlier votes of the reviewer stay superseded.
 */
export async function deleteReview(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  id: number,
): Promise<void> {
  const open = await openReview(app, caller, name, id, 'take part')
  const isOwn = open.review.reviewer_id === caller.user.id
  if (!isOwn && !actsAsAdministrator(caller, 'write'))
    throw new DomainError('REVIEW_DELETION_DENIED')
  const remove = async (tx: Tx, pull: PullRequest, now: number) => {
    const { state, reviewer_id, ...review } = present(await rows.findReviewById(tx, id))
    await rows.deleteReview(tx, id)
    if (reviewer_id === null) return
    if (state === 'REQUEST_REVIEW') await restoreVotes(tx, pull, [reviewer_id])
    // Earlier votes must not count after a change of the base branch either.
    if (isVote({ state }))
      await rows.dismissVotes(tx, pull.id, reviewer_id, review, { update_time: now })
  }
  if (open.review.state === 'PENDING') await changePending(app, caller, open, 'nothing', remove)
  else await changeReviews(app, caller, open, 'PULL_REQUEST_REVIEWED', remove)
}

/** Changes a pending review, which notifies no one. */
export function changePending<T>(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  needs: ConversationNeed,
  work: (tx: Tx, pull: PullRequest, now: number) => Promise<T>,
): Promise<T> {
  return transaction(app.db, async (tx) =>
    work(tx, await rereadForReview(tx, caller, open, needs), nowSeconds(app.clock)),
  )
}

function check(
  caller: SignedIn,
  pull: PullRequest,
  event: ReviewEvent,
  body: string,
  comments: number,
): void {
  checkReview({
    event,
    body,
    hasComments: comments > 0,
    isOwn: isPoster(caller, pull),
    state: pull.state,
  })
}

function checkPending({ state }: Review): void {
  if (state !== 'PENDING') throw new DomainError('REVIEW_NOT_PENDING')
}

/**
 * Returns the columns of a review about a commit.
 *
 * @param before the pull request as it was when the commit was found.
 */
function aboutCommit(
  before: PullRequest,
  { base_branch, head_commit }: PullRequest,
  commit: ReviewedCommit,
) {
  const isOfHead = commit.id === head_commit && before.base_branch === base_branch
  return {
    commit_id: commit.id,
    merge_base: commit.mergeBase ?? '',
    compared_head: isOfHead ? commit.id : '',
    compared_base: commit.mergeBase ?? '',
    stale: 0,
  }
}

/** The text of a review and the commit that it is about. */
interface ReviewText {
  readonly about: ReturnType<typeof aboutCommit>
  readonly body: string
  readonly now: number
}

/** Creates a pending review, or updates the pending review of the caller. */
async function putPending(
  tx: Tx,
  { user }: SignedIn,
  { id }: PullRequest,
  { about, body, now }: ReviewText,
): Promise<Review> {
  const changes = { ...about, body, create_time: now, update_time: now }
  const begun = await rows.findPendingReview(tx, id, user.id)
  if (begun) return present(await rows.updateReview(tx, begun.id, changes))
  const key = {
    pull_request_id: id,
    reviewer_id: user.id,
    team_id: null,
    state: 'PENDING',
    official: 0,
  } as const
  return rows.insertReview(tx, { ...key, ...changes })
}

/** The submission of a review. */
interface Submission {
  readonly event: Exclude<ReviewEvent, 'PENDING'>
  readonly body: string
  readonly now: number
}

/**
 * Submits a pending review. It supersedes earlier reviews of the reviewer and answers requests to
 * the reviewer.
 */
async function submit(
  tx: Tx,
  { user }: SignedIn,
  pull: PullRequest,
  { id }: Review,
  { event, body, now }: Submission,
): Promise<Review> {
  let official = 0
  if (isVote({ state: event })) {
    await rows.clearOfficialVotes(tx, pull.id, user.id)
    const officials = await findOfficials(
      tx,
      await homeOf(tx, pull),
      await findRule(tx, pull),
      [user.id],
      [],
    )
    official = Number(officials.userIds.has(user.id))
  }
  // The poster cannot answer a request to a team of which they are a member.
  if (user.id !== pull.poster_id) await rows.deleteAnsweredRequests(tx, pull.id, user.id)
  const changes = { state: event, official, body, create_time: now, update_time: now }
  return present(await rows.updateReview(tx, id, changes))
}

function present(review: Review | undefined): Review {
  if (!review) throw new DomainError('REVIEW_NOT_FOUND')
  return review
}

interface Dismissal {
  /** The reason. May be empty. */
  readonly message: string
  /** Whether to dismiss earlier reviews of the same reviewer, too. */
  readonly priors: boolean
}

/** Dismisses an approval or a rejection, on behalf of an administrator of the repository. */
export async function dismissReview(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  id: number,
  { message, priors }: Dismissal,
): Promise<ReviewView> {
  const open = await openDismissible(app, caller, name, id)
  checkLength('message', message, MAX_TEXT_CHARACTERS)
  const review = await changeReviews(
    app,
    caller,
    open,
    'PULL_REQUEST_REVIEWED',
    async (tx, pull, now) => {
      checkOpen(pull)
      const changes = { dismissal_message: message, update_time: now }
      const { reviewer_id } = open.review
      if (priors && reviewer_id !== null)
        await rows.dismissVotes(tx, pull.id, reviewer_id, open.review, changes)
      await recordTimeline(app, tx, caller.user.id, pull.id, dismissalEvent(id, message))
      return present(await rows.updateReview(tx, id, { ...changes, dismissed: 1 }))
    },
  )
  return viewReview(app, caller, open, review)
}

/** Reverts a dismissal. */
export async function undismissReview(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  id: number,
): Promise<ReviewView> {
  const open = await openDismissible(app, caller, name, id)
  const review = await changeReviews(
    app,
    caller,
    open,
    'PULL_REQUEST_REVIEWED',
    async (tx, pull, now) => {
      checkOpen(pull)
      return present(
        await rows.updateReview(tx, id, { dismissed: 0, dismissal_message: '', update_time: now }),
      )
    },
  )
  return viewReview(app, caller, open, review)
}

async function openDismissible(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  id: number,
): Promise<OpenReview> {
  const open = await openPull(app, caller, name, 'take part')
  // Checked first, so that other callers do not learn which reviews exist.
  if (!suffices(open.units.code, 'admin')) throw new DomainError('REVIEW_DISMISSAL_DENIED')
  const review = await findReview(app, caller, open, id)
  if (!isVote(review)) throw new DomainError('REVIEW_NOT_DISMISSIBLE')
  checkOpen(open.pull)
  return { ...open, review }
}

function checkOpen({ state }: PullRequest): void {
  if (state !== 'OPEN') throw new DomainError('REVIEW_DISMISSAL_CLOSED')
}
