import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  CodeSuggestionSchema,
  type PullReview,
  type PullReviewComment,
  PullReviewCommentSchema,
  PullReviewSchema,
} from '#gen/branchline/v1/review_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { accountMessage } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import { teamMessage } from '../../organizations/team.service.ts'
import { gitUrls } from '../../repositories/lifecycle/repository.message.ts'
import { findCodeOwnerErrors } from './code-owner-errors.ts'
import { deleteReviewCommentEdit, listReviewCommentEdits } from './review-comment-edits.ts'
import {
  createReviewComment,
  deleteReviewComment,
  editReviewComment,
  getReviewComment,
  listReviewComments,
  type ReviewCommentView,
  replyToReviewComment,
  setResolved,
} from './review-comments.ts'
import { requestReviewers, withdrawReviewRequests } from './review-requests.ts'
import type { ReviewView } from './review-views.ts'
import {
  createReview,
  deleteReview,
  dismissReview,
  getReview,
  listReviews,
  submitReview,
  undismissReview,
} from './reviews.ts'
import { type Suggestion, suggestionOf } from './suggestions.ts'

/**
 * Maximum number of comments in a response to clients that request no page. A review has no more.
 */
const MAX_WHOLE_LIST = 1000

/** Implements ReviewService. */
function reviewService(app: App): ServiceImpl<typeof ReviewService> {
  return {
    ...reviewMethods(app),
    ...reviewerMethods(app),
    ...commentMethods(app),
    ...editMethods(app),
  }
}

type ReviewMethods = Pick<
  ServiceImpl<typeof ReviewService>,
  | 'listCodeOwnerErrors'
  | 'listReviews'
  | 'getReview'
  | 'createReview'
  | 'submitReview'
  | 'deleteReview'
  | 'dismissReview'
  | 'undismissReview'
>

function reviewMethods(app: App): ReviewMethods {
  return {
    async listCodeOwnerErrors({ owner, repo, ref }, context) {
      const caller = signedIn(callerOf(context))
      return { errors: await findCodeOwnerErrors(app, caller, { owner, repo }, ref) }
    },

    async listReviews({ owner, repo, index, ...page }, context) {
      const caller = callerOf(context)
      const { offset, limit } = readNumberedPage(app.settings, page)
      const { reviews, total } = await listReviews(
        app,
        caller,
        { owner, repo, number: Number(index) },
        { offset, limit },
      )
      return {
        reviews: reviews.map((view) => reviewMessage(app, caller, view)),
        total: BigInt(total),
        limit,
      }
    },

    async getReview({ owner, repo, index, id }, context) {
      const caller = callerOf(context)
      return reviewMessage(
        app,
        caller,
        await getReview(app, caller, { owner, repo, number: Number(index) }, Number(id)),
      )
    },

    async createReview({ owner, repo, index, comments, ...request }, context) {
      const caller = signedIn(callerOf(context))
      const draft = { ...request, comments: comments.map(commentDraft) }
      return reviewMessage(
        app,
        caller,
        await createReview(app, caller, { owner, repo, number: Number(index) }, draft),
      )
    },

    async submitReview({ owner, repo, index, id, ...request }, context) {
      const caller = signedIn(callerOf(context))
      return reviewMessage(
        app,
        caller,
        await submitReview(
          app,
          caller,
          { owner, repo, number: Number(index) },
          Number(id),
          request,
        ),
      )
    },

    async deleteReview({ owner, repo, index, id }, context) {
      await deleteReview(
        app,
        signedIn(callerOf(context)),
        { owner, repo, number: Number(index) },
        Number(id),
      )
      return {}
    },

    async dismissReview({ owner, repo, index, id, ...request }, context) {
      const caller = signedIn(callerOf(context))
      const view = await dismissReview(
        app,
        caller,
        { owner, repo, number: Number(index) },
        Number(id),
        request,
      )
      return reviewMessage(app, caller, view)
    },

    async undismissReview({ owner, repo, index, id }, context) {
      const caller = signedIn(callerOf(context))
      return reviewMessage(
        app,
        caller,
        await undismissReview(app, caller, { owner, repo, number: Number(index) }, Number(id)),
      )
    },
  }
}

type ReviewerMethods = Pick<
  ServiceImpl<typeof ReviewService>,
  'requestReviewers' | 'withdrawReviewRequests'
>

function reviewerMethods(app: App): ReviewerMethods {
  return {
    async requestReviewers({ owner, repo, index, reviewers, teamReviewers }, context) {
      const caller = signedIn(callerOf(context))
      const names = { users: reviewers, teams: teamReviewers }
      const reviews = await requestReviewers(
        app,
        caller,
        { owner, repo, number: Number(index) },
        names,
      )
      return { reviews: reviews.map((view) => reviewMessage(app, caller, view)) }
    },

    async withdrawReviewRequests({ owner, repo, index, reviewers, teamReviewers }, context) {
      const names = { users: reviewers, teams: teamReviewers }
      await withdrawReviewRequests(
        app,
        signedIn(callerOf(context)),
        { owner, repo, number: Number(index) },
        names,
      )
      return {}
    },
  }
}

type CommentMethods = Omit<
  ServiceImpl<typeof ReviewService>,
  keyof ReviewMethods | keyof ReviewerMethods | keyof EditMethods
>

function commentMethods(app: App): CommentMethods {
  return {
    async listReviewComments({ owner, repo, index, id, ...page }, context) {
      const caller = callerOf(context)
      const isWhole = page.page === 0 && page.limit === 0
      const { offset, limit } = isWhole
        ? { offset: 0, limit: MAX_WHOLE_LIST }
        : readNumberedPage(app.settings, page)
      const name = { owner, repo, number: Number(index) }
      const found = await listReviewComments(app, caller, name, Number(id), {
        offset,
        limit,
      })
      const comments = found.comments.map((view) => reviewCommentMessage(app, caller, view))
      return { comments, total: BigInt(found.total), limit }
    },

    async getReviewComment({ owner, repo, index, id, comment }, context) {
      const caller = callerOf(context)
      const view = await getReviewComment(
        app,
        caller,
        { owner, repo, number: Number(index) },
        Number(id),
        Number(comment),
      )
      return reviewCommentMessage(app, caller, view)
    },

    async createReviewComment({ owner, repo, index, id, ...draft }, context) {
      const caller = signedIn(callerOf(context))
      const comment = commentDraft(draft)
      const view = await createReviewComment(
        app,
        caller,
        { owner, repo, number: Number(index) },
        Number(id),
        comment,
      )
      return reviewCommentMessage(app, caller, view)
    },

    async editReviewComment({ owner, repo, index, id, comment, body }, context) {
      const caller = signedIn(callerOf(context))
      const view = await editReviewComment(
        app,
        caller,
        { owner, repo, number: Number(index) },
        { id: Number(id), commentId: Number(comment), body },
      )
      return reviewCommentMessage(app, caller, view)
    },

    async deleteReviewComment({ owner, repo, index, id, comment }, context) {
      const caller = signedIn(callerOf(context))
      await deleteReviewComment(
        app,
        caller,
        { owner, repo, number: Number(index) },
        Number(id),
        Number(comment),
      )
      return {}
    },

    async replyToReviewComment({ owner, repo, index, comment, body }, context) {
      const caller = signedIn(callerOf(context))
      const view = await replyToReviewComment(
        app,
        caller,
        { owner, repo, number: Number(index) },
        Number(comment),
        body,
      )
      return reviewCommentMessage(app, caller, view)
    },

    async resolveReviewComment({ owner, repo, comment }, context) {
      await setResolved(app, signedIn(callerOf(context)), { owner, repo }, Number(comment), true)
      return {}
    },

    async unresolveReviewComment({ owner, repo, comment }, context) {
      await setResolved(app, signedIn(callerOf(context)), { owner, repo }, Number(comment), false)
      return {}
    },
  }
}

type EditMethods = Pick<
  ServiceImpl<typeof ReviewService>,
  'listReviewCommentEdits' | 'deleteReviewCommentEdit'
>

function editMethods(app: App): EditMethods {
  return {
    async listReviewCommentEdits({ owner, repo, index, id, comment }, context) {
      const caller = callerOf(context)
      const views = await listReviewCommentEdits(
        app,
        caller,
        { owner, repo, number: Number(index) },
        { id: Number(id), commentId: Number(comment) },
      )
      return {
        edits: views.map(({ edit, editor }) => ({
          id: BigInt(edit.id),
          user: accountMessage(app, caller, editor),
          body: edit.body,
          createdAt: atSecond(edit.create_time),
        })),
      }
    },

    async deleteReviewCommentEdit({ owner, repo, index, id, comment, edit }, context) {
      await deleteReviewCommentEdit(
        app,
        signedIn(callerOf(context)),
        { owner, repo, number: Number(index) },
        { id: Number(id), commentId: Number(comment) },
        Number(edit),
      )
      return {}
    },
  }
}

interface LineRequest {
  readonly path: string
  readonly body: string
  readonly newPosition: bigint
  readonly oldPosition: bigint
}

function commentDraft({ path, body, newPosition, oldPosition }: LineRequest) {
  return { path, body, newLine: Number(newPosition), oldLine: Number(oldPosition) }
}

/** Returns a review as a viewer may see it. */
export function reviewMessage(
  app: App,
  viewer: Caller,
  { open, review, reviewer, team, isStale }: ReviewView,
): PullReview {
  const page = gitUrls(app, open).html(`/pulls/${open.pull.number}`)
  return create(PullReviewSchema, {
    id: BigInt(review.id),
    ...(reviewer && { user: accountMessage(app, viewer, reviewer) }),
    ...(team && { team: teamMessage(app, viewer, team) }),
    state: review.state,
    body: review.body,
    commitId: review.commit_id,
    stale: isStale,
    official: review.official === 1,
    dismissed: review.dismissed === 1,
    commentsCount: BigInt(review.comments_count),
    submittedAt: atSecond(review.create_time),
    updatedAt: atSecond(review.update_time),
    htmlUrl: `${page}#review-${review.id}`,
    pullRequestUrl: page,
    dismissalMessage: review.dismissal_message,
    originalAuthor: review.original_author,
    originalAuthorId: BigInt(review.original_author_id),
  })
}

/** Returns a comment of a review as a viewer may see it. */
export function reviewCommentMessage(
  app: App,
  viewer: Caller,
  { open, comment, poster, resolver }: ReviewCommentView,
): PullReviewComment {
  const page = gitUrls(app, open).html(`/pulls/${open.pull.number}`)
  const line = BigInt(comment.line)
  const suggestion = suggestionOf(comment)
  return create(PullReviewCommentSchema, {
    id: BigInt(comment.id),
    body: comment.body,
    user: accountMessage(app, viewer, poster),
    ...(resolver && { resolver: accountMessage(app, viewer, resolver) }),
    pullRequestReviewId: BigInt(comment.review_id),
    createdAt: atSecond(comment.create_time),
    updatedAt: atSecond(comment.update_time),
    path: comment.path,
    commitId: comment.commit_id,
    originalCommitId: comment.original_commit_id,
    originalAuthor: comment.original_author,
    originalAuthorId: BigInt(comment.original_author_id),
    diffHunk: comment.diff_hunk,
    // As in compatible systems, only one side has a line.
    ...(comment.side === 'new' ? { position: line } : { originalPosition: line }),
    htmlUrl: `${page}/files#review-comment-${comment.id}`,
    pullRequestUrl: page,
    ...(suggestion && { suggestion: suggestionMessage(suggestion) }),
  })
}

function suggestionMessage({ from, to, lines }: Suggestion) {
  return create(CodeSuggestionSchema, {
    fromLine: BigInt(from),
    toLine: BigInt(to),
    lines: [...lines],
  })
}

export const reviews = defineService(ReviewService, reviewService)
