import { Code } from '@connectrpc/connect'
import type { Metadata, Refusals } from '../core/refusal.ts'

/** URLs of an issue over REST: prefix, number and rest. */
const ISSUE_URL =
  /^[a-z]+:\/\/[^/]*(\/api\/v1\/repos\/)[^/?]+\/[^/?]+\/issues\/(\d+)((?:[/?:].*)?)$/

/** Returns the path and query of the same resource of an issue that another repository has now. */
function transferredTo(
  { owner = '', repo = '', number = '', former }: Metadata,
  requestUrl: string,
): string | undefined {
  const [, before, numberThen, rest] = ISSUE_URL.exec(requestUrl) ?? []
  // The transferred issue may be one that the request names outside of its path.
  if (before === undefined || Number(numberThen) !== Number(former)) return undefined
  return `${before}${owner}/${repo}/issues/${number}${rest}`
}

/** The errors of issues. */
export const ISSUES = {
  ISSUE_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  ISSUE_TRANSFERRED: {
    code: Code.NotFound,
    message: ({ owner, repo, number }) => `the issue is ${owner}/${repo}#${number} now`,
    restStatus: 301,
    location: transferredTo,
  },
  INVALID_PARENT: {
    code: Code.InvalidArgument,
    message: ({ rule }) => `the issue cannot be a sub-issue: ${rule}`,
    restStatus: 422,
    field: 'index',
  },
  IMPORT_CONFLICT: {
    code: Code.FailedPrecondition,
    message: ({ number }) => `the repository has used the number ${number} or a higher one`,
    restStatus: 409,
  },
  TRANSFER_TARGET_DENIED: {
    code: Code.PermissionDenied,
    message: 'user should have write access to the issues of the other repository',
  },
  CONFIRM_PUBLIC_REQUIRED: {
    code: Code.InvalidArgument,
    message: 'confirm_public is required',
    restStatus: 422,
    field: 'confirm_public',
  },
  ISSUE_EDIT_DENIED: {
    code: Code.PermissionDenied,
    message: 'only the author and users with write access to issues may edit this issue',
  },
  ISSUE_DELETE_DENIED: {
    code: Code.PermissionDenied,
    message:
      'only administrators of the repository may delete issues, and pull requests cannot be deleted',
  },
  ISSUE_CHANGED: { code: Code.Aborted, message: 'the issue is already changed' },
  INVALID_ISSUE_STATE: {
    code: Code.FailedPrecondition,
    message: ({ state }) => `unknown state: ${state}`,
    restStatus: 412,
    field: 'state',
  },
  ISSUE_PIN_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  PIN_LIMIT_REACHED: {
    code: Code.FailedPrecondition,
    message: 'the max number of pinned issues has been reached',
    restStatus: 400,
  },
  INVALID_PIN_POSITION: {
    code: Code.InvalidArgument,
    message: 'the position is a number from 1',
    restStatus: 400,
    field: 'position',
  },
  INVALID_ISSUE_QUERY: {
    code: Code.InvalidArgument,
    message: ({ position, token, expected }) =>
      `the query is not understood at character ${position}, "${token}": expected ${expected}`,
    restStatus: 422,
    field: 'query',
  },
  ISSUE_VIEW_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TOO_MANY_ISSUE_VIEWS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `the limit of ${limit} views has been reached`,
    restStatus: 422,
  },
  FILTER_TEAM_UNKNOWN: {
    code: Code.InvalidArgument,
    message: ({ name, owner }) =>
      owner === undefined
        ? 'owner organisation is required for filtering on team'
        : `team does not exist [name: ${name}]`,
    restStatus: 400,
    field: 'team',
  },
  ISSUE_CREATION_RESTRICTED: {
    code: Code.PermissionDenied,
    message: ({ access }) => `opening issues is limited to ${access}`,
  },
  ISSUE_FORM_INCOMPLETE: {
    code: Code.InvalidArgument,
    message: ({ field, label, rule }) => `[${field}] ${label}: ${rule}`,
    restStatus: 422,
    field: 'fields',
  },
  TIME_TRACKING_DISABLED: { code: Code.NotFound, message: 'timetracker is disabled' },
  TIME_NOT_TRACKED: {
    code: Code.FailedPrecondition,
    message: 'time tracking disabled',
    restStatus: 400,
  },
  STOPWATCH_DENIED: { code: Code.PermissionDenied, message: 'time tracking disabled' },
} satisfies Refusals
