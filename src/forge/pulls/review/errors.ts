import { Code } from '@connectrpc/connect'
import type { Refusals } from '../../core/refusal.ts'

/** Errors of reviews of pull requests. */
export const REVIEWS = {
  INVALID_REVIEWER: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} cannot be a reviewer`,
    restStatus: 422,
  },
  INVALID_REVIEW_LINE: {
    code: Code.InvalidArgument,
    message: ({ path, side, line }) => `the ${side} side of ${path} has no line ${line}`,
    restStatus: 422,
  },
  OWN_PULL_APPROVED: {
    code: Code.FailedPrecondition,
    message: 'approve your own pull is not allowed',
    restStatus: 422,
  },
  OWN_PULL_REJECTED: {
    code: Code.FailedPrecondition,
    message: 'reject your own pull is not allowed',
    restStatus: 422,
  },
  REVIEWER_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ kind, name }) => `${kind} doesn't exist: ${name}`,
  },
  REVIEW_BODY_REQUIRED: {
    code: Code.InvalidArgument,
    message: ({ event }) =>
      event === 'COMMENT'
        ? 'review event COMMENT requires a body or a comment'
        : `review event ${event} requires a body`,
    restStatus: 422,
  },
  REVIEW_COMMENT_DENIED: {
    code: Code.PermissionDenied,
    message:
      'only the author of the comment and users with write access to pull requests may do this',
  },
  REVIEW_COMMENT_NOT_FOUND: {
    code: Code.NotFound,
    message: 'not found',
  },
  REVIEW_COMMIT_UNKNOWN: {
    code: Code.InvalidArgument,
    message: ({ sha }) => `${sha} is not a commit of this pull request`,
    restStatus: 422,
  },
  REVIEW_DELETION_DENIED: {
    code: Code.PermissionDenied,
    message: 'only the reviewer may delete a review',
  },
  REVIEW_DISMISSAL_CLOSED: {
    code: Code.FailedPrecondition,
    message: "can't dismiss a review for a closed or merged PR",
    restStatus: 403,
  },
  REVIEW_DISMISSAL_DENIED: {
    code: Code.PermissionDenied,
    message: 'Must be repo admin',
  },
  REVIEW_NOT_DISMISSIBLE: {
    code: Code.FailedPrecondition,
    message: "not need to dismiss this review because it's type is not Approve or change request",
    restStatus: 403,
  },
  REVIEW_NOT_FOUND: {
    code: Code.NotFound,
    message: 'not found',
  },
  REVIEW_NOT_PENDING: {
    code: Code.FailedPrecondition,
    message: 'only a pending review can be submitted',
    restStatus: 422,
  },
  REVIEW_ON_CLOSED_PULL: {
    code: Code.FailedPrecondition,
    message: "can't submit review for a closed or merged PR",
    restStatus: 422,
  },
  REVIEW_REQUEST_CLOSED: {
    code: Code.FailedPrecondition,
    message: "can't request a review for a closed or merged PR",
    restStatus: 403,
  },
  REVIEW_REQUEST_DENIED: {
    code: Code.PermissionDenied,
    message: 'only the author and users with write access to pull requests may request reviews',
  },
  REVIEW_STAYS_PENDING: {
    code: Code.InvalidArgument,
    message: 'review stay pending',
    restStatus: 422,
  },
  TOO_MANY_REVIEWERS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a pull request can have at most ${limit} requested reviewers`,
    restStatus: 422,
  },
  TOO_MANY_REVIEW_COMMENTS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a review can have at most ${limit} comments`,
    restStatus: 422,
  },
} satisfies Refusals
