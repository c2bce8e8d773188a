import { Code } from '@connectrpc/connect'
import type { Metadata, Refusals } from '../core/refusal.ts'

/** The message of compatible systems for a user without read access. */
export const noAccess = ({ user_id, repository }: Metadata) =>
  `user doesn't have access to repo [user_id: ${user_id}, repo_name: ${repository}]`

/** Errors of what issues and pull requests share, and of commit statuses. */
export const CONVERSATIONS = {
  ATTACHMENT_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  ATTACHMENT_DENIED: {
    code: Code.PermissionDenied,
    message: 'only the author and users with write access may change the attachments',
  },
  ATTACHMENT_TYPE_REFUSED: {
    code: Code.InvalidArgument,
    message: ({ allowed }) => `files of this type are not allowed, only: ${allowed}`,
    restStatus: 422,
    field: 'name',
  },
  ATTACHMENT_TOO_LARGE: {
    code: Code.ResourceExhausted,
    message: ({ max_bytes }) => `a file can have at most ${max_bytes} bytes`,
    restStatus: 413,
  },
  TOO_MANY_ATTACHMENTS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `the limit of ${limit} attachments has been reached`,
    restStatus: 422,
  },
  INVALID_LABEL_COLOR: {
    code: Code.InvalidArgument,
    message: ({ color }) => `bad color code: ${color}`,
    restStatus: 422,
    field: 'color',
  },
  INVALID_STATUS_STATE: {
    code: Code.InvalidArgument,
    message: ({ state }) => `"${state}" is not a valid status state`,
    restStatus: 422,
    field: 'state',
  },
  LABEL_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  MILESTONE_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TOO_MANY_LABELS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `the limit of ${limit} labels has been reached`,
    restStatus: 422,
  },
  TOO_MANY_MILESTONES: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a repository can have at most ${limit} milestones`,
    restStatus: 422,
  },
  TOO_MANY_STATUS_CONTEXTS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a commit can have statuses of at most ${limit} contexts`,
    restStatus: 422,
  },
  CONVERSATION_LOCKED: {
    code: Code.PermissionDenied,
    message: ({ action }) =>
      action === 'react'
        ? 'no permission to change reaction'
        : 'You cannot comment on a locked issue.',
  },
  INVALID_LOCK_REASON: {
    code: Code.InvalidArgument,
    message: 'reason not valid',
    restStatus: 400,
    field: 'lock_reason',
  },
  INVALID_REACTION: {
    code: Code.InvalidArgument,
    message: ({ content }) => `'${content}' is not an allowed reaction`,
    restStatus: 403,
    field: 'content',
  },
  ASSIGNEE_NOT_ASSIGNABLE: {
    code: Code.FailedPrecondition,
    message: noAccess,
    restStatus: 422,
  },
  ASSIGNEE_NOT_FOUND: {
    code: Code.InvalidArgument,
    message: ({ name }) =>
      `Assignee does not exist: [name: user does not exist [uid: 0, name: ${name}]]`,
    restStatus: 422,
    field: 'assignees',
  },
  CLOSE_BLOCKED: {
    code: Code.FailedPrecondition,
    message: 'cannot close this issue or pull request because it still has open dependencies',
    restStatus: 412,
  },
  DEPENDENCIES_DISABLED: { code: Code.NotFound, message: 'not found' },
  INVALID_DEPENDENCY: {
    code: Code.InvalidArgument,
    message: ({ limit }) =>
      limit === undefined
        ? 'circular dependencies exist'
        : `an issue or pull request can depend on at most ${limit} others`,
    restStatus: 422,
  },
  INVALID_LABEL_ID: { code: Code.InvalidArgument, message: '', restStatus: 500 },
  ISSUE_RATE_LIMITED: {
    code: Code.ResourceExhausted,
    message: 'the account has written too much of late: try again later',
  },
  ISSUE_COMMENT_DENIED: {
    code: Code.PermissionDenied,
    message:
      'only the author of a comment and users with write access to pull requests may change it',
  },
  ISSUE_COMMENT_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  LABEL_MALFORMED: {
    code: Code.InvalidArgument,
    message: 'a label must be an integer or a string',
    restStatus: 400,
    field: 'labels',
  },
  COMMENT_EDIT_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  SUBSCRIPTION_DENIED: {
    code: Code.PermissionDenied,
    message: ({ username }) => `you are not permitted to change subscriptions for ${username}`,
  },
} satisfies Refusals
