import type { Tx } from '../../../platform/database/schema.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import { type Concerns, newMentions } from '../../conversations/concerns.ts'
import { type ConversationNeed, checkConversation } from '../../conversations/conversation-needs.ts'
import { checkCommentText, MAX_EDITS } from '../../conversations/issue-comments.ts'
import { checkRate, countContribution } from '../../conversations/rates.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { ConversationName, Page, RepositoryName } from '../../core/names.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { isPoster, type OpenPull, openPull, openPulls } from '../heads/open-pulls.ts'
import type { PullRequest, ReviewComment } from '../schema.ts'
import {
  type CommentDraft,
  followComments,
  insertComments,
  type PlacedComment,
  placeComments,
} from './comment-lines.ts'
import { changeReviews } from './review-changes.ts'
import { insertReviewCommentEdit } from './review-comment-edits.rows.ts'
import { reviewViewer } from './review-views.ts'
import { reviewedCommit } from './reviewed-commits.ts'
import * as rows from './reviews.rows.ts'
import { findReview } from './reviews.rows.ts'
import { changePending, type OpenReview, openReview } from './reviews.ts'

/** A review comment, as a caller who may see it sees it. */
export interface ReviewCommentView {
  readonly open: OpenPull
  readonly comment: ReviewComment
  readonly poster: Owner
  /** The user who resolved the conversation. Undefined while it is unresolved. */
  readonly resolver: Owner | undefined
}

/** A page of a list. */
interface ReviewCommentPage {
  readonly comments: readonly ReviewCommentView[]
  /** Length of the whole list. */
  readonly total: number
}

/** Lists the comments of a review, oldest first. */
export async function listReviewComments(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  id: number,
  page: Page,
): Promise<ReviewCommentPage> {
  const open = await openReview(app, caller, name, id, 'read')
  const comments = await followComments(
    app,
    open,
    await rows.listReviewComments(app.db, id, page.offset, page.limit),
  )
  return { comments: await viewComments(app, open, comments), total: open.review.comments_count }
}

/** The most comments of several reviews that a response has. */
const MAX_OF_REVIEWS = 1000

/** Lists the comments of some reviews of a pull request, which the caller may see, oldest first. */
export async function listCommentsOfReviews(
  app: ReposApp,
  open: OpenPull,
  reviewIds: readonly number[],
): Promise<ReviewCommentView[]> {
  const found = await rows.listCommentsOfReviews(app.db, reviewIds, MAX_OF_REVIEWS)
  return viewComments(app, open, await followComments(app, open, found))
}

/** Returns one comment of a review. */
export async function getReviewComment(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  id: number,
  commentId: number,
): Promise<ReviewCommentView> {
  const open = await openReview(app, caller, name, id, 'read')
  const [comment] = await followComments(app, open, [await findIn(app, open, commentId)])
  if (!comment) throw missing()
  return viewComment(app, open, comment)
}

/** Adds a comment to a review of the caller. */
export async function createReviewComment(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  id: number,
  draft: CommentDraft,
): Promise<ReviewCommentView> {
  const open = await openReview(app, caller, name, id, 'take part')
  await checkConversation(app.db, caller, open, open.pull, 'voice')
  const { review } = open
  if (review.reviewer_id !== caller.user.id || review.state === 'REQUEST_REVIEW') throw denied()
  const commit = await reviewedCommit(app, open.pull, '')
  const comments = await placeComments(app, open.repository.id, commit, [draft])
  return addComments(app, caller, open, comments)
}

/** Replies to a comment. The reply belongs to the same review. */
export async function replyToReviewComment(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  commentId: number,
  body: string,
): Promise<ReviewCommentView> {
  const open = await openPull(app, caller, name, 'take part')
  const { comment, review } = await findComment(app, caller, open, commentId)
  await checkConversation(app.db, caller, open, open.pull, 'voice')
  checkCommentText('body', body)
  const { path, side, line, commit_id, original_commit_id, diff_hunk } = comment
  const reply = { path, side, line, commit_id, original_commit_id, diff_hunk, body }
  return addComments(app, caller, { ...open, review }, [reply])
}

/**
 * Changes the text of a comment of a review. The author and users with write access to pull
 * requests may do so. The former text is kept, unless the review is pending: nobody else has seen
 * that text, and the comment begins anew.
 */
export async function editReviewComment(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  { id, commentId, body }: { readonly id: number; readonly commentId: number; body: string },
): Promise<ReviewCommentView> {
  const open = await openReview(app, caller, name, id, 'take part')
  const comment = await findIn(app, open, commentId)
  checkMayChangeComment(caller, open, comment)
  await checkConversation(app.db, caller, open, open.pull, 'voice')
  checkCommentText('body', body)
  if (body === comment.body) return viewComment(app, open, comment)
  const edited = await changeComments(
    app,
    caller,
    open,
    async (tx, _, now) => {
      const former = await rows.findReviewComment(tx, commentId)
      const isPending = (await rows.findReviewById(tx, id))?.state === 'PENDING'
      if (!former) throw missing()
      const edit = { comment_id: commentId, editor_id: caller.user.id, create_time: now }
      if (!isPending) await insertReviewCommentEdit(tx, { ...edit, body: former.body }, MAX_EDITS)
      const create_time = isPending ? now : former.create_time
      return rows.updateReviewComment(tx, commentId, { body, create_time, update_time: now })
    },
    {
      needs: 'voice',
      concerns: { everybody: false, review: id, mentioned: newMentions([body], comment.body) },
    },
  )
  if (!edited) throw missing()
  return viewComment(app, open, edited)
}

/**
 * Deletes a comment of a review. The author and users with write access to pull requests may do so.
 */
export async function deleteReviewComment(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  id: number,
  commentId: number,
): Promise<void> {
  const open = await openReview(app, caller, name, id, 'take part')
  const comment = await findIn(app, open, commentId)
  checkMayChangeComment(caller, open, comment)
  await changeComments(app, caller, open, async (tx) => {
    if (!(await rows.deleteReviewComment(tx, commentId))) throw missing()
  })
}

/**
 * Resolves or reopens the conversation of a review comment. The author of the comment, the poster
 * of the pull request and users with write access to pull requests may do so. The first user who
 * resolves it remains its resolver.
 */
export async function setResolved(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  commentId: number,
  isResolved: boolean,
): Promise<void> {
  const { repository } = await openPulls(app, caller, name)
  const number = await rows.findNumberOfComment(app.db, repository.id, commentId)
  if (number === undefined) throw missing()
  const open = await openPull(app, caller, { ...name, number }, 'take part')
  const { comment, review } = await findComment(app, caller, open, commentId)
  const may =
    comment.poster_id === caller.user.id ||
    isPoster(caller, open.pull) ||
    suffices(open.access, 'write')
  if (!may) throw denied()
  await markResolved(app, caller, { ...open, review }, commentId, isResolved)
}

/**
 * Resolves or reopens the conversation of a review comment. The caller of this function has checked
 * that the user may do so.
 */
export async function markResolved(
  app: ReposApp,
  caller: SignedIn,
  open: OpenReview,
  commentId: number,
  isResolved: boolean,
): Promise<void> {
  await changeComments(app, caller, open, async (tx) => {
    const present = await rows.findReviewComment(tx, commentId)
    if (!present) throw missing()
    await rows.setResolver(
      tx,
      commentId,
      isResolved ? (present.resolver_id ?? caller.user.id) : null,
    )
  })
}

async function addComments(
  app: ReposApp,
  caller: SignedIn,
  open: OpenReview,
  comments: readonly PlacedComment[],
): Promise<ReviewCommentView> {
  await checkRate(app, app.db, { caller, open }, 'TEXT')
  const concerns = {
    everybody: true,
    review: open.review.id,
    mentioned: newMentions(comments.map(({ body }) => body)),
  }
  const [comment] = await changeComments(
    app,
    caller,
    open,
    async (tx, _, now) => {
      await countContribution(app, tx, { caller, open }, 'TEXT')
      return insertComments(tx, caller, open.review.id, comments, now)
    },
    { needs: 'voice', concerns },
  )
  if (!comment) throw missing()
  return viewComment(app, open, comment)
}

const NOTHING_SAID = { needs: 'nothing', concerns: { everybody: false } } as const

/**
 * Changes the comments of a review. Changes of a pending review notify no one.
 *
 * @param said what adding to the conversation needs, and whom it concerns.
 */
function changeComments<T>(
  app: ReposApp,
  caller: SignedIn,
  open: OpenReview,
  work: (tx: Tx, pull: PullRequest, now: number) => Promise<T>,
  said: { needs: ConversationNeed; concerns: Concerns } = NOTHING_SAID,
): Promise<T> {
  const { needs, concerns } = said
  if (open.review.state === 'PENDING') return changePending(app, caller, open, needs, work)
  const change = {
    type: 'PULL_REQUEST_COMMENTED',
    needs,
    told: () => [],
    concerns: () => concerns,
  } as const
  return changeReviews(app, caller, open, change, work)
}

/**
 * Finds a comment of a review.
 *
 * @throws REVIEW_COMMENT_NOT_FOUND
 */
export async function findIn(
  app: ReposApp,
  { review }: OpenReview,
  commentId: number,
): Promise<ReviewComment> {
  const comment = await rows.findReviewComment(app.db, commentId)
  if (comment?.review_id !== review.id) throw missing()
  return comment
}

/** Finds a comment in any review of a pull request that the caller may see. */
export async function findComment(
  app: ReposApp,
  caller: Caller,
  open: OpenPull,
  commentId: number,
) {
  const comment = await rows.findReviewComment(app.db, commentId)
  const viewer = await reviewViewer(app, caller, open)
  const review = comment && (await findReview(app.db, open.pull.id, viewer, comment.review_id))
  if (!review) throw missing()
  return { comment, review }
}

/**
 * Checks that a user may change a comment: its author and users with write access to pull requests may.
 *
 * @throws REVIEW_COMMENT_DENIED
 */
export function checkMayChangeComment(
  { user }: SignedIn,
  { access }: OpenPull,
  { poster_id }: ReviewComment,
): void {
  if (poster_id !== user.id && !suffices(access, 'write')) throw denied()
}

function missing(): DomainError {
  return new DomainError('REVIEW_COMMENT_NOT_FOUND')
}

function denied(): DomainError {
  return new DomainError('REVIEW_COMMENT_DENIED')
}

async function viewComments(
  app: ReposApp,
  open: OpenPull,
  comments: readonly ReviewComment[],
): Promise<ReviewCommentView[]> {
  const ids = comments.flatMap(({ poster_id, resolver_id }) =>
    [poster_id ?? [], resolver_id ?? []].flat(),
  )
  const people = await findOwnersByIds(app.db, [...new Set(ids)])
  return comments.map((comment) => ({
    open,
    comment,
    poster: people.get(comment.poster_id ?? 0) ?? GHOST,
    resolver: people.get(comment.resolver_id ?? 0),
  }))
}

async function viewComment(
  app: ReposApp,
  open: OpenPull,
  comment: ReviewComment,
): Promise<ReviewCommentView> {
  const [view] = await viewComments(app, open, [comment])
  if (!view) throw new Error('a comment has no view')
  return view
}
