import { Code } from '@connectrpc/connect'
import { noAccess } from '../conversations/errors.ts'
import type { Refusals } from '../core/refusal.ts'

/** Errors of pull requests, merges and reviews. */
export const PULLS = {
  FILTER_OWNER_UNKNOWN: {
    code: Code.InvalidArgument,
    message: ({ name }) => `user does not exist [uid: 0, name: ${name}]`,
    restStatus: 400,
    field: 'owner',
  },
  ALREADY_QUEUED: {
    code: Code.AlreadyExists,
    message: 'the pull request is in the merge queue already',
  },
  DEQUEUE_DENIED: {
    code: Code.PermissionDenied,
    message: 'only who added the pull request, or who may merge it, can take it out of the queue',
  },
  MERGE_QUEUE_ENTRY_NOT_FOUND: {
    code: Code.NotFound,
    message: 'the pull request is not in the merge queue',
  },
  MERGE_QUEUE_FULL: {
    code: Code.ResourceExhausted,
    message: ({ limit }) => `the merge queue has ${limit} entries`,
  },
  MERGE_QUEUE_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ base }) => `branch ${base} has no merge queue`,
  },
  QUEUE_JUMP_DENIED: {
    code: Code.PermissionDenied,
    message: 'only administrators of the repository can jump the merge queue',
  },
  APPROVALS_MISSING: {
    code: Code.FailedPrecondition,
    message: 'Does not have enough approvals',
    restStatus: 405,
  },
  AUTO_MERGE_CANCEL_DENIED: {
    code: Code.PermissionDenied,
    message: 'user has no permission to cancel the scheduled auto merge',
  },
  AUTO_MERGE_NOT_SCHEDULED: { code: Code.NotFound, message: 'not found' },
  AUTO_MERGE_SCHEDULED: {
    code: Code.AlreadyExists,
    message: ({ id }) =>
      `pull request is already scheduled to auto merge when checks succeed [pull_id: ${id}]`,
  },
  CHANGES_REQUESTED: {
    code: Code.FailedPrecondition,
    message: 'There are requested changes',
    restStatus: 405,
  },
  COLLABORATION_REQUIRED: { code: Code.PermissionDenied, message: 'user must be a collaborator' },
  HEAD_BEHIND_BASE: {
    code: Code.FailedPrecondition,
    message: 'The head branch is behind the base branch',
    restStatus: 405,
  },
  HEAD_COMMITS_UNVERIFIED: {
    code: Code.FailedPrecondition,
    message: 'the branch requires signed commits but not all head commits are verified',
    restStatus: 405,
  },
  HEAD_COMMIT_DIFFERS: { code: Code.Aborted, message: 'head out of date' },
  INVALID_COMPARISON: {
    code: Code.InvalidArgument,
    message: ({ text }) => `invalid compare argument: ${text}`,
    restStatus: 400,
  },
  // The specification hides the cause.
  INVALID_PULL_REQUEST_STATE: {
    code: Code.InvalidArgument,
    message: ({ state }) => `unknown state: ${state}`,
    restStatus: 412,
    field: 'state',
  },
  MAINTAINER_EDIT_DENIED: {
    code: Code.PermissionDenied,
    message: 'SetAllowEdits: user not allowed to do this action',
  },
  MERGE_BLOCKED: {
    code: Code.FailedPrecondition,
    message: 'is blocked by an open dependency',
    restStatus: 405,
  },
  MERGE_CONFLICT: {
    code: Code.FailedPrecondition,
    message: ({ paths }) =>
      paths === '[]' ? 'the branches have no common ancestor' : 'merge failed due to conflicts',
    restStatus: 409,
    body: ({ style = '', text = '' }, message) => ({
      Style: style,
      StdOut: text,
      StdErr: '',
      Err: {},
      message,
    }),
  },
  MERGE_DENIED: {
    code: Code.PermissionDenied,
    message: 'User not allowed to merge PR',
    restStatus: 405,
  },
  MERGE_FAST_FORWARD_IMPOSSIBLE: {
    reason: 'FAST_FORWARD_IMPOSSIBLE',
    code: Code.FailedPrecondition,
    message: 'the base branch has commits that are not in the head branch',
    restStatus: 409,
    body: ({ style = '' }, message) => ({
      Style: style,
      StdOut: '',
      StdErr: 'fatal: Not possible to fast-forward, aborting.',
      Err: {},
      message,
    }),
  },
  MERGE_OUT_OF_DATE: { code: Code.Aborted, message: 'merge push out of date' },
  MERGE_FILE_LOCKED: {
    reason: 'FILE_LOCKED',
    code: Code.FailedPrecondition,
    message: ({ text }) => text ?? 'a file is locked',
    restStatus: 409,
  },
  MERGE_PUSH_REFUSED: {
    code: Code.FailedPrecondition,
    message: ({ text }) =>
      text
        ? `PushRejected with remote message: ${text}`
        : 'PushRejected without remote error message',
    restStatus: 409,
  },
  MERGE_STYLE_NOT_ALLOWED: {
    code: Code.FailedPrecondition,
    // The message of compatible systems.
    message: ({ style }) => `${style} is not allowed an allowed merge style for this repository`,
    restStatus: 405,
  },
  MERGE_UNSIGNED: { code: Code.FailedPrecondition, message: 'wont sign: nokey', restStatus: 405 },
  NEW_BASE_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ branch }) => `new base '${branch}' not exist`,
  },
  NOTIFICATION_THREAD_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  PROTECTED_FILES_CHANGED: {
    code: Code.FailedPrecondition,
    message: 'Changed protected files',
    restStatus: 405,
  },
  PULL_BASE_INVALID: { code: Code.NotFound, message: 'invalid base branch or revision' },
  PULL_REQUEST_ACCESS_LOST: { code: Code.FailedPrecondition, message: noAccess, restStatus: 400 },
  PULL_REQUEST_BRANCH_GONE: {
    code: Code.FailedPrecondition,
    message: ({ branch }) =>
      `cannot reopen this pull request because branch ${branch} does not exist`,
    restStatus: 412,
  },
  PULL_REQUEST_CHANGED: { code: Code.Aborted, message: 'the issue is already changed' },
  PULL_REQUEST_CLOSED: { code: Code.FailedPrecondition, message: 'not found', restStatus: 404 },
  PULL_REQUEST_EDIT_DENIED: {
    code: Code.PermissionDenied,
    message:
      'only the author and users with write access to pull requests may edit this pull request',
    restStatus: 403,
    isBodiless: true,
  },
  PULL_REQUEST_EXISTS: {
    code: Code.AlreadyExists,
    // Compatible systems have two ids for a pull request.
    message: ({ id, head_repo_id, base_repo_id, head_branch, base_branch }) =>
      `pull request already exists for these targets [id: ${id}, issue_id: ${id}, head_repo_id: ${head_repo_id}, ` +
      `base_repo_id: ${base_repo_id}, head_branch: ${head_branch}, base_branch: ${base_branch}]`,
  },
  PULL_REQUEST_MERGED: {
    code: Code.FailedPrecondition,
    message: 'The PR is already merged',
    restStatus: 405,
  },
  PULL_REQUEST_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  PULL_REQUEST_NOT_MERGEABLE: {
    code: Code.FailedPrecondition,
    message: 'Please try again later',
    restStatus: 405,
  },
  PULL_REQUEST_NOT_MERGED: { code: Code.NotFound, message: 'not found' },
  PULL_REQUEST_NOT_OF_BRANCHES: {
    code: Code.InvalidArgument,
    message: 'Invalid PullRequest: base and head must be branches',
    restStatus: 422,
  },
  PULL_REQUEST_STATE_FIXED: {
    code: Code.FailedPrecondition,
    message: 'cannot change state of this pull request, it was already merged',
    restStatus: 412,
  },
  PULL_REQUEST_UNRELATED: {
    code: Code.FailedPrecondition,
    message: 'Invalid PullRequest: The head and the base have no common history',
    restStatus: 422,
  },
  PULL_REQUEST_UPDATE_DENIED: {
    code: Code.PermissionDenied,
    message: 'this account may not update the head branch in this way',
    restStatus: 403,
    isBodiless: true,
  },
  PULL_REQUEST_WITHOUT_CHANGES: {
    code: Code.InvalidArgument,
    message: 'Invalid PullRequest: There are no changes between the head and the base',
    restStatus: 422,
  },
  PULL_REQUEST_WORK_IN_PROGRESS: {
    code: Code.FailedPrecondition,
    message: 'Work in progress PRs cannot be merged',
    restStatus: 405,
  },
  REBASE_CONFLICT: {
    code: Code.FailedPrecondition,
    message: 'rebase failed due to conflicts',
    restStatus: 409,
    body: ({ style = '', commit_sha = '', text = '' }, message) => ({
      Style: style,
      CommitSHA: commit_sha,
      StdOut: text,
      StdErr: '',
      Err: {},
      message,
    }),
  },
  RETARGET_OF_CLOSED: {
    code: Code.FailedPrecondition,
    message: 'cannot change the target branch of a closed pull request',
    restStatus: 422,
  },
  RETARGET_OF_MERGED: {
    code: Code.FailedPrecondition,
    message: 'cannot change the target branch of a merged pull request',
    restStatus: 409,
  },
  REVIEWS_MISSING: {
    code: Code.FailedPrecondition,
    message: 'There are official review requests',
    restStatus: 405,
  },
  STATUS_CHECKS_MISSING: {
    code: Code.FailedPrecondition,
    message: 'Not all required status checks successful',
    restStatus: 405,
  },
  TOO_MANY_COMMITS_TO_REBASE: {
    code: Code.FailedPrecondition,
    message: ({ limit }) => `at most ${limit} commits can be rebased at once`,
    restStatus: 409,
  },
  UNKNOWN_POSTER: {
    code: Code.InvalidArgument,
    message: ({ name }) => `user does not exist [uid: 0, name: ${name}]`,
    restStatus: 400,
    field: 'poster',
  },
  // The message of compatible systems.
  UPDATE_CONFLICT: {
    reason: 'MERGE_CONFLICT',
    code: Code.FailedPrecondition,
    message: 'merge failed because of conflict',
    restStatus: 409,
  },
  UPDATE_OF_CLOSED: {
    reason: 'PULL_REQUEST_CLOSED',
    code: Code.FailedPrecondition,
    message: 'pull request is already closed',
    restStatus: 422,
  },
  UPDATE_OF_MERGED: {
    reason: 'PULL_REQUEST_MERGED',
    code: Code.FailedPrecondition,
    message: 'pull request is already merged',
    restStatus: 422,
  },
  UPDATE_REBASE_CONFLICT: {
    reason: 'REBASE_CONFLICT',
    code: Code.FailedPrecondition,
    message: 'rebase failed because of conflict',
    restStatus: 409,
  },
  WRONG_MERGE_COMMIT: {
    code: Code.FailedPrecondition,
    message: 'Wrong commit ID',
    restStatus: 409,
  },
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
  STACK_NOT_READY: {
    code: Code.FailedPrecondition,
    message: ({ number, cause }) =>
      `pull request #${number} below may not enter the merge queue: ${cause}`,
    restStatus: 405,
  },
  STACK_TOO_LARGE: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a stack has at most ${limit} pull requests`,
    restStatus: 422,
  },
  SUGGESTION_DENIED: {
    code: Code.PermissionDenied,
    message: 'only users who may push to the head branch can apply suggestions',
  },
  SUGGESTION_MISSING: {
    code: Code.InvalidArgument,
    message: ({ comment }) => `comment ${comment} has no suggestion that can be applied`,
    restStatus: 422,
  },
  SUGGESTION_ON_CLOSED_PULL: {
    code: Code.FailedPrecondition,
    message: 'the pull request is closed or merged',
    restStatus: 422,
  },
  SUGGESTION_OUTDATED: {
    code: Code.FailedPrecondition,
    message: ({ comment }) => `the lines of comment ${comment} have changed`,
    restStatus: 409,
  },
  SUGGESTIONS_OVERLAP: {
    code: Code.InvalidArgument,
    message: ({ comment }) => `comment ${comment} replaces a line that another one replaces, too`,
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
  TOO_MANY_VIEWED_FILES: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `at most ${limit} files of a pull request can be marked as viewed`,
    restStatus: 422,
  },
} satisfies Refusals
