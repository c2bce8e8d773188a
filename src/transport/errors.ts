import { create, type JsonObject } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { HttpStatusSchema } from '#gen/branchline/rest/v1/rest_pb.ts'
import type { ErrorReason } from '#gen/branchline/v1/error_reason_pb.ts'
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { DomainError, deletionBehind, type Reason } from '../domain/errors.ts'
import { codeToHttpStatus } from './rest/connect-internals.ts'

/** `domain` of every ErrorInfo. */
export const ERROR_DOMAIN = 'branchline'

/** On the answer to every call, and on its log line. */
export const REQUEST_ID_HEADER = 'x-request-id'

type Metadata = Readonly<Record<string, string>>

/** What a reason looks like from outside. */
interface Refusal {
  readonly code: Code
  /** For people. Programs read the reason. */
  readonly message: string | ((metadata: Metadata) => string)
  /** HTTP status over REST, where it is not the one that stands for the code. */
  readonly restStatus?: number
  /** Path of the request field at fault, where it is always the same one. */
  readonly field?: string
  /** Path and query to go to instead, over REST; undefined when that cannot be told from the URL. */
  readonly location?: (metadata: Metadata, requestUrl: string) => string | undefined
  /** Body over REST, where compatible systems have one of its own. */
  readonly body?: (metadata: Metadata, message: string) => JsonObject
  /** Whether the answer over REST has no body, as in compatible systems. For rows with a `restStatus`. */
  readonly isBodiless?: true
  /** Name and value of a header of the answer, metadata over gRPC. */
  readonly header?: readonly [string, string] | ((metadata: Metadata) => readonly [string, string])
}

/** Tells clients that read no reasons to ask for a one-time passcode and to send it in this header. */
export const PASSCODE_CHALLENGE = ['x-service-otp', 'required'] as const

/** What the client sent cannot be read, or leads nowhere; found by the transports, not by the rules. */
export type TransportReason = 'MALFORMED_REQUEST' | 'METHOD_NOT_ALLOWED' | 'REQUEST_TOO_LARGE' | 'UNKNOWN_PATH'

/** A value of the proto enum. */
type PublicReason = keyof typeof ErrorReason

/** A situation that shares its public reason with another one, of another status. */
interface SharedRefusal extends Refusal {
  readonly reason: PublicReason
}

/** What a repository refuses to who lacks a level, in the words that compatible systems use. */
const DENIED_WRITE = 'user should have a permission to write to a repo'
const DENIALS: ReadonlyMap<string, string> = new Map([
  ['admin', 'user should be an owner or a collaborator with admin write of a repository'],
  ['owner', 'user should be the owner of the repo'],
])

/** Whether nobody may, or somebody else: in the words that compatible systems use. */
const HOOKS_DENIED = 'must be allowed to edit Git hooks'

/** Somebody who may not read a repository, in the words that compatible systems use. */
const noAccess = ({ user_id, repository }: Metadata) =>
  `user doesn't have access to repo [user_id: ${user_id}, repo_name: ${repository}]`

/**
 * The one table from reasons to codes and texts. A key is a value of the proto enum ErrorReason, where its meaning and
 * its metadata are documented, or its row names one: for any other reason this does not compile.
 */
const REFUSALS: Readonly<
  Record<(Reason | TransportReason) & PublicReason, Refusal> & Record<Exclude<Reason, PublicReason>, SharedRefusal>
> = {
  ACCOUNT_ARCHIVED: { code: Code.PermissionDenied, message: 'this account is archived' },
  APPROVALS_MISSING: { code: Code.FailedPrecondition, message: 'Does not have enough approvals', restStatus: 405 },
  ASSET_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  ASSET_TOO_LARGE: {
    code: Code.ResourceExhausted,
    message: ({ max_bytes }) => `a file has at most ${max_bytes} bytes`,
    restStatus: 413,
  },
  ASSIGNEE_NOT_ASSIGNABLE: {
    code: Code.FailedPrecondition,
    message: noAccess,
    restStatus: 422,
  },
  ASSIGNEE_NOT_FOUND: {
    code: Code.InvalidArgument,
    message: ({ name }) => `Assignee does not exist: [name: user does not exist [uid: 0, name: ${name}]]`,
    restStatus: 422,
    field: 'assignees',
  },
  AUTO_MERGE_CANCEL_DENIED: {
    code: Code.PermissionDenied,
    message: 'user has no permission to cancel the scheduled auto merge',
  },
  AUTO_MERGE_NOT_SCHEDULED: { code: Code.NotFound, message: 'not found' },
  AUTO_MERGE_SCHEDULED: {
    code: Code.AlreadyExists,
    message: ({ id }) => `pull request is already scheduled to auto merge when checks succeed [pull_id: ${id}]`,
  },
  AVATAR_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  BAD_CREDENTIALS: { code: Code.Unauthenticated, message: 'the credentials are wrong, expired or revoked' },
  BLOCKED_ADDRESS: {
    code: Code.InvalidArgument,
    message: ({ host }) => `${host} has a private or reserved address`,
    field: 'webhook.url',
  },
  BLOCK_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  BRANCH_COMMIT_NOT_FOUND: {
    code: Code.InvalidArgument,
    message: ({ id }) => `object does not exist [id: ${id}, rel_path: ]`,
    restStatus: 422,
    field: 'new_commit_id',
  },
  BRANCH_EXISTS: { code: Code.AlreadyExists, message: 'The branch already exists.' },
  BRANCH_HEAD_DIFFERS: {
    code: Code.FailedPrecondition,
    message: ({ expected, given }) => `branch commit does not match [expected: ${expected}, given: ${given}]`,
    restStatus: 422,
  },
  BRANCH_NAMED_LIKE_TAG: {
    code: Code.AlreadyExists,
    message: 'The branch with the same tag already exists.',
  },
  BRANCH_NOT_DELETABLE: {
    code: Code.FailedPrecondition,
    message: 'can not delete default or pull request target branch',
    restStatus: 403,
  },
  BRANCH_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ operation }) => (operation === 'rename' ? "Branch doesn't exist." : 'not found'),
  },
  BRANCH_PROTECTED: {
    code: Code.PermissionDenied,
    message: ({ text }) => text ?? 'branch protected',
  },
  BRANCH_PROTECTION_EXISTS: {
    code: Code.AlreadyExists,
    message: 'Branch protection already exist',
    restStatus: 403,
  },
  BRANCH_PROTECTION_NAMELESS: {
    code: Code.InvalidArgument,
    message: 'both rule_name and branch_name are empty',
    restStatus: 400,
    field: 'rule_name',
  },
  BRANCH_PROTECTION_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  BRANCH_RENAME_CONFLICT: {
    code: Code.AlreadyExists,
    message: 'Cannot rename a branch using the same name or rename to a branch that already exists.',
    restStatus: 422,
  },
  BRANCH_RENAME_DENIED: {
    code: Code.PermissionDenied,
    message: 'User must be a repo or site admin to rename default or protected branches.',
  },
  BRANCH_RENAME_PROTECTED: {
    code: Code.PermissionDenied,
    message: 'Failed to rename branch due to branch protection rules.',
  },
  CANNOT_BLOCK: {
    code: Code.InvalidArgument,
    message: 'nobody blocks themselves, and an organisation does not block its members',
    restStatus: 400,
  },
  CHANGES_REQUESTED: { code: Code.FailedPrecondition, message: 'There are requested changes', restStatus: 405 },
  CLONE_FAILED: {
    code: Code.FailedPrecondition,
    message: ({ cause }) => `the repository could not be copied: ${cause}`,
    restStatus: 422,
  },
  CODE_REFUSED: {
    code: Code.InvalidArgument,
    reason: 'BAD_CREDENTIALS',
    message: ({ name, provider_error }) =>
      `${name} refuses the code${provider_error === undefined ? '' : `: ${provider_error}`}`,
  },
  COLLABORATION_REQUIRED: { code: Code.PermissionDenied, message: 'user must be a collaborator' },
  COLLABORATOR_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  COMMIT_NOT_FOUND: { code: Code.NotFound, message: ({ ref }) => `commit doesn't exist: ${ref}` },
  CROSS_SITE_REQUEST: {
    code: Code.PermissionDenied,
    message: 'this request comes from another site and has no credentials of its own',
  },
  CURSOR_EXPIRED: {
    code: Code.OutOfRange,
    message: 'events behind the cursor have been forgotten; read the lists and start anew',
    field: 'cursor',
  },
  DELETED_MEANWHILE: { code: Code.NotFound, message: 'not found' },
  DEPLOY_KEY_EXISTS: {
    code: Code.InvalidArgument,
    message: 'This key has already been added to this repository',
    restStatus: 422,
    field: 'key',
  },
  DEPLOY_KEY_TITLE_TAKEN: {
    code: Code.InvalidArgument,
    message: 'A key with the same name already exists',
    restStatus: 422,
    field: 'title',
  },
  DIFF_TOO_LARGE: {
    code: Code.ResourceExhausted,
    message: 'this is too much for one text: fetch the commits with git',
    restStatus: 422,
  },
  DISPLAY_NAME_CHANGE_CLOSED: { code: Code.PermissionDenied, message: 'only administrators change display names here' },
  EMAIL_TAKEN: { code: Code.AlreadyExists, message: 'this e-mail address belongs to another account' },
  EMPTY_MASK: { code: Code.InvalidArgument, message: 'the update names no field to change', field: 'update_mask' },
  FAST_FORWARD_IMPOSSIBLE: {
    code: Code.FailedPrecondition,
    message: 'fast-forward merge not possible: branch has diverged',
    restStatus: 400,
  },
  FILE_CHANGED: {
    code: Code.Aborted,
    message: ({ given, expected }) => `sha does not match [given: ${given}, expected: ${expected}]`,
    restStatus: 422,
  },
  FILE_EXISTS: {
    code: Code.AlreadyExists,
    message: ({ path }) => `repository file already exists [path: ${path}]`,
    restStatus: 422,
  },
  FIRST_ACCOUNT_REFUSED: {
    code: Code.PermissionDenied,
    message:
      'the first account administers the instance and is made on its machine: ' +
      'node dist/main.js user create --data DIR --username NAME --role admin --password-stdin',
  },
  FORCE_REQUIRED: {
    code: Code.FailedPrecondition,
    message: ({ branch }) => `Force push ${branch} need a confirm force parameter`,
    restStatus: 422,
  },
  FORK_EXISTS: {
    code: Code.AlreadyExists,
    message: ({ owner }) => `${owner} has this repository already, or a fork of it`,
  },
  GIT_HOOKS_DISABLED: { code: Code.PermissionDenied, message: HOOKS_DENIED },
  GIT_HOOK_ACCESS_DENIED: { code: Code.PermissionDenied, message: HOOKS_DENIED },
  GIT_HOOK_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  GIT_HOOK_REFUSED: { code: Code.PermissionDenied, message: ({ text }) => text || 'push is rejected' },
  GIT_TIMEOUT: { code: Code.DeadlineExceeded, message: 'this takes longer to read than the server allows' },
  GPG_KEY_EMAIL_UNKNOWN: {
    code: Code.NotFound,
    message: ({ token }) =>
      'None of the emails attached to the GPG key could be found. ' +
      `It may still be added if you provide a valid signature for the token: ${token}`,
  },
  GPG_KEY_IN_USE: {
    code: Code.InvalidArgument,
    message: 'A key with the same id already exists',
    restStatus: 422,
    field: 'armored_public_key',
  },
  GPG_SIGNATURE_INVALID: {
    code: Code.InvalidArgument,
    message: ({ token }) =>
      'The provided GPG key, signature and token do not match or token is out of date. ' +
      `Provide a valid signature for the token: ${token}`,
    restStatus: 422,
    field: 'armored_signature',
  },
  HAS_ASSOCIATED_DATA: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} owns content; delete with force`,
  },
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
  IDENTITY_ALREADY_LINKED: { code: Code.AlreadyExists, message: ({ name }) => `another identity is linked: ${name}` },
  IDENTITY_PROVIDER_ID_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ id }) => `the id "${id}" is taken`,
    field: 'identity_provider_id',
  },
  IDENTITY_PROVIDER_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  IDENTITY_PROVIDER_UNAVAILABLE: {
    code: Code.Unavailable,
    message: ({ name }) => `${name} cannot be reached, or its answer makes no sense`,
  },
  IDENTITY_REFUSED: { code: Code.PermissionDenied, message: ({ name }) => `${name} does not admit this identity here` },
  IDENTITY_TAKEN: { code: Code.AlreadyExists, message: 'this identity is linked to another account' },
  INVALID_AVATAR: {
    code: Code.InvalidArgument,
    message: 'an avatar is an https URL, or a data URI of a PNG, JPEG, GIF or WebP image of at most 1 MiB',
    field: 'user.avatar_url',
  },
  INVALID_CLONE_ADDRESS: {
    code: Code.InvalidArgument,
    message: 'clone_addr must be an http or https URL',
    restStatus: 422,
    field: 'clone_addr',
  },
  INVALID_COLLABORATOR: {
    code: Code.InvalidArgument,
    message: ({ username, permission }) =>
      permission === undefined
        ? `${username} owns the repository`
        : `"${permission}" is none of the permissions read, write and admin`,
    restStatus: 422,
  },
  INVALID_COMPARISON: {
    code: Code.InvalidArgument,
    message: ({ text }) => `invalid compare argument: ${text}`,
    restStatus: 400,
  },
  INVALID_CURSOR: { code: Code.InvalidArgument, message: 'the cursor does not belong to this stream', field: 'cursor' },
  INVALID_DEFAULT_BRANCH: {
    code: Code.InvalidArgument,
    message: ({ branch }) => `"${branch}" cannot be the default branch`,
    restStatus: 422,
    field: 'default_branch',
  },
  INVALID_EMAIL: { code: Code.InvalidArgument, message: 'this is not an e-mail address', field: 'user.email' },
  INVALID_EXPIRY: {
    code: Code.InvalidArgument,
    message: ({ max_days }) => `a token expires after 1 to ${max_days} days, or never with 0`,
    field: 'expires_in_days',
  },
  INVALID_FIELD: {
    code: Code.InvalidArgument,
    message: ({ field, max_length, max_bytes, rule }) => {
      if (rule !== undefined) return `[${pascalCase(field)}]: ${rule}`
      if (max_length !== undefined) return `${field} is longer than ${max_length} characters`
      if (max_bytes !== undefined) return `${field} is longer than ${max_bytes} bytes`
      return `${field} is missing or not allowed`
    },
  },
  INVALID_FILE_CHANGE: {
    code: Code.InvalidArgument,
    message: ({ path, problem }) => `${problem} [path: ${path}]`,
    restStatus: 422,
  },
  INVALID_FILE_PATH: {
    code: Code.InvalidArgument,
    message: ({ path }) => `path contains a malformed path component [path: ${path}]`,
    restStatus: 422,
  },
  INVALID_FILTER: {
    code: Code.InvalidArgument,
    message: 'the filter cannot be read, or says something that this list does not support',
    field: 'filter',
  },
  INVALID_GPG_KEY: {
    code: Code.InvalidArgument,
    message: ({ problem }) => `Invalid GPG key: ${problem}`,
    restStatus: 422,
    field: 'armored_public_key',
  },
  INVALID_IDENTIFIER_FILTER: {
    code: Code.InvalidArgument,
    message: 'the filter is no regular expression in the syntax of RE2, or too long',
    field: 'identity_provider.identifier_filter',
  },
  INVALID_IDENTITY_PROVIDER_ID: {
    code: Code.InvalidArgument,
    message: 'an id has up to 36 letters, digits and hyphens, and starts and ends with no hyphen',
    field: 'identity_provider_id',
  },
  INVALID_LABEL_COLOR: {
    code: Code.InvalidArgument,
    message: ({ color }) => `bad color code: ${color}`,
    restStatus: 422,
    field: 'color',
  },
  // The specification has it so: what it is about is hidden.
  INVALID_LABEL_ID: { code: Code.InvalidArgument, message: '', restStatus: 500 },
  INVALID_MEMO_ID: {
    code: Code.InvalidArgument,
    message: 'an id has up to 36 letters, digits and hyphens, and starts and ends with no hyphen',
    field: 'memo_id',
  },
  INVALID_MERGE_STYLE: {
    code: Code.InvalidArgument,
    message: ({ field, style }) => `${field} cannot be "${style}"`,
    restStatus: 422,
  },
  INVALID_MIRROR_INTERVAL: {
    code: Code.InvalidArgument,
    message: ({ interval }) => `"${interval}" is no interval of at least 10m0s, nor 0`,
    restStatus: 422,
    field: 'mirror_interval',
  },
  INVALID_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `"${name}" is not a resource name of this method`,
  },
  INVALID_ORDER: { code: Code.InvalidArgument, message: 'the list cannot be ordered like this', field: 'order_by' },
  INVALID_ORGANIZATION_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `an organization cannot be called "${name}"`,
    restStatus: 422,
    field: 'username',
  },
  INVALID_PAGE_SIZE: { code: Code.InvalidArgument, message: 'a page size is not negative', field: 'page_size' },
  INVALID_PAGE_TOKEN: {
    code: Code.InvalidArgument,
    message: 'the page token does not belong to this list',
    field: 'page_token',
  },
  INVALID_PROTECTION_ORDER: {
    code: Code.InvalidArgument,
    message: ({ id }) => `rule ${id} is named twice or does not exist`,
    restStatus: 422,
    field: 'ids',
  },
  INVALID_PULL_REQUEST_STATE: {
    code: Code.InvalidArgument,
    message: ({ state }) => `unknown state: ${state}`,
    restStatus: 412,
    field: 'state',
  },
  INVALID_REF: {
    code: Code.InvalidArgument,
    message: ({ ref }) => `no valid ref or sha: ${ref}`,
    restStatus: 422,
  },
  INVALID_REPOSITORY_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `a repository cannot be called "${name}"`,
    restStatus: 422,
    field: 'name',
  },
  INVALID_REPOSITORY_SEARCH: {
    code: Code.InvalidArgument,
    message: ({ field, value }) => `Invalid search ${field}: "${value}"`,
    restStatus: 422,
  },
  INVALID_REQUEST_ID: {
    code: Code.InvalidArgument,
    message: 'a request id has up to 64 printable ASCII characters',
    field: 'request_id',
  },
  INVALID_RESET_TOKEN: {
    code: Code.InvalidArgument,
    message: 'the reset token is unknown, expired or used',
    field: 'token',
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
  INVALID_SCOPE: {
    code: Code.InvalidArgument,
    message: ({ scope }) =>
      scope === '' ? 'access token must have a scope' : `invalid access token scope provided: ${scope}`,
    restStatus: 400,
    field: 'scopes',
  },
  INVALID_SIGNING_SECRET: {
    code: Code.InvalidArgument,
    message: 'a signing secret is printable ASCII; after whsec_ comes the base64 form of 24 to 64 bytes',
    field: 'webhook.signing_secret',
  },
  INVALID_SSH_KEY: {
    code: Code.InvalidArgument,
    message: ({ problem }) => `Invalid key content: ${problem}`,
    restStatus: 422,
    field: 'key',
  },
  INVALID_STATUS_STATE: {
    code: Code.InvalidArgument,
    message: ({ state }) => `"${state}" is no state of a status`,
    restStatus: 422,
    field: 'state',
  },
  INVALID_TAG_PATTERN: {
    code: Code.InvalidArgument,
    message:
      'the pattern is neither a glob nor, between slashes, a regular expression in the syntax of RE2, or too long',
    restStatus: 422,
    field: 'name_pattern',
  },
  INVALID_TEAM_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `a team cannot be called "${name}"`,
    restStatus: 422,
    field: 'name',
  },
  INVALID_TEAM_UNITS: {
    code: Code.InvalidArgument,
    message: ({ unit, level }) => {
      if (unit !== undefined) return `there is no unit "${unit}"`
      return level === undefined ? 'units permission should not be empty' : `a unit has no level "${level}"`
    },
    restStatus: 422,
  },
  INVALID_TOPIC: {
    code: Code.InvalidArgument,
    message: 'Topic name is invalid',
    restStatus: 422,
    field: 'topic',
    body: ({ topic = '' }, message) => ({ invalidTopics: topic, message }),
  },
  INVALID_TOPICS: {
    code: Code.InvalidArgument,
    message: 'Topic names are invalid',
    restStatus: 422,
    field: 'topics',
    body: ({ topics = '[]' }, message) => ({ invalidTopics: JSON.parse(topics), message }),
  },
  INVALID_UPLOAD: {
    code: Code.InvalidArgument,
    message: 'the content is no form with a file in its field "attachment"',
    restStatus: 400,
    field: 'attachment',
  },
  INVALID_USERNAME: {
    code: Code.InvalidArgument,
    message: 'a username has up to 36 letters, digits and hyphens, starts and ends with no hyphen, and is not reserved',
    field: 'user.username',
  },
  INVALID_USER_ID: {
    code: Code.InvalidArgument,
    message: 'an id has up to 36 lower-case letters, digits and hyphens, and is not reserved',
    field: 'user_id',
  },
  INVALID_WEBHOOK_URL: {
    code: Code.InvalidArgument,
    message: 'a target is an http or https URL without user information and fragment, whose host can be resolved',
    field: 'webhook.url',
  },
  ISSUE_COMMENT_DENIED: {
    code: Code.PermissionDenied,
    message: 'only who wrote a comment, and those who may write to pull requests, may change it',
  },
  ISSUE_COMMENT_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  KEY_ACCESS_DENIED: { code: Code.PermissionDenied, message: 'You do not have access to this key' },
  KEY_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  LABEL_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  LAST_ADMIN: { code: Code.FailedPrecondition, message: ({ name }) => `${name} is the last active administrator` },
  LAST_IDENTITY_PROVIDER: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `people could not sign in without ${name}`,
  },
  LAST_ORGANIZATION_OWNER: {
    code: Code.FailedPrecondition,
    message: ({ organization }) => `${organization} would be left without an owner`,
    restStatus: 422,
  },
  LAST_SIGN_IN_METHOD: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} is the only way to sign in to this account`,
  },
  LINKED_IDENTITY_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  MAIL_NOT_CONFIGURED: {
    code: Code.FailedPrecondition,
    message: 'this instance sends no mail; ask an administrator for a reset token',
  },
  MAINTAINER_EDIT_DENIED: {
    code: Code.PermissionDenied,
    message: 'SetAllowEdits: user not allowed to do this action',
  },
  MALFORMED_REQUEST: { code: Code.InvalidArgument, message: 'the request cannot be read' },
  MEMBER_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  MEMO_ARCHIVED: { code: Code.FailedPrecondition, message: ({ name }) => `${name} is archived` },
  MEMO_ID_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ memo_id }) => `the id "${memo_id}" is taken`,
    field: 'memo_id',
  },
  MEMO_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  MERGE_CONFLICT: {
    code: Code.FailedPrecondition,
    message: ({ paths }) =>
      paths === '[]' ? 'the branches have no history in common' : 'merge failed due to conflicts',
    restStatus: 409,
    body: ({ style = '', text = '' }, message) => ({ Style: style, StdOut: text, StdErr: '', Err: {}, message }),
  },
  MERGE_DENIED: { code: Code.PermissionDenied, message: 'User not allowed to merge PR', restStatus: 405 },
  MERGE_FAST_FORWARD_IMPOSSIBLE: {
    reason: 'FAST_FORWARD_IMPOSSIBLE',
    code: Code.FailedPrecondition,
    message: 'the base branch has commits that the head has not',
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
  MERGE_PUSH_REFUSED: {
    code: Code.FailedPrecondition,
    message: ({ text }) =>
      text ? `PushRejected with remote message: ${text}` : 'PushRejected without remote error message',
    restStatus: 409,
  },
  MERGE_STYLE_NOT_ALLOWED: {
    code: Code.FailedPrecondition,
    // The words of compatible systems.
    message: ({ style }) => `${style} is not allowed an allowed merge style for this repository`,
    restStatus: 405,
  },
  MERGE_UNSIGNED: { code: Code.FailedPrecondition, message: 'wont sign: nokey', restStatus: 405 },
  METHOD_NOT_ALLOWED: { code: Code.Unimplemented, message: 'this path is served for other methods', restStatus: 405 },
  MILESTONE_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  NEW_BASE_NOT_FOUND: { code: Code.NotFound, message: ({ branch }) => `new base '${branch}' not exist` },
  NEW_BRANCH_EXISTS: {
    code: Code.AlreadyExists,
    message: ({ branch }) => `branch already exists [name: ${branch}]`,
    restStatus: 422,
  },
  NOTIFICATION_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  NOT_OWNED_BY_ORGANIZATION: {
    code: Code.FailedPrecondition,
    message: 'repo is not owned by an organization',
    restStatus: 405,
  },
  NO_BRANCHES: {
    reason: 'REPOSITORY_EMPTY',
    code: Code.FailedPrecondition,
    message: 'Git Repository is empty.',
    restStatus: 404,
  },
  OBJECT_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  OLD_BRANCH_NOT_FOUND: { code: Code.NotFound, message: 'The old branch does not exist' },
  ORGANIZATION_ACCESS_DENIED: {
    code: Code.PermissionDenied,
    message: ({ needed }) =>
      needed === 'create-repository'
        ? 'Given user is not allowed to create repository in organization.'
        : `Must be an organization ${needed}`,
  },
  ORGANIZATION_HAS_REPOSITORIES: {
    code: Code.FailedPrecondition,
    message: 'organization still owns repositories',
    restStatus: 422,
  },
  ORGANIZATION_NAME_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ name }) => `user already exists [name: ${name}]`,
    restStatus: 422,
  },
  ORGANIZATION_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  OWNERS_TEAM_FIXED: {
    code: Code.FailedPrecondition,
    message: 'the team Owners keeps its name and its rights',
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
  PARENT_PRIVATE: {
    code: Code.FailedPrecondition,
    message: 'a fork of a private repository is private as well',
    restStatus: 422,
  },
  PASSWORD_REQUIRED: {
    code: Code.Unauthenticated,
    message: 'auth required',
    header: ['www-authenticate', 'Basic realm="branchline"'],
  },
  PASSWORD_SIGN_IN_CLOSED: { code: Code.PermissionDenied, message: 'only administrators use passwords here' },
  PATH_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  PERMISSION_DENIED: { code: Code.PermissionDenied, message: 'this account may not do that' },
  PROTECTED_FILES_CHANGED: { code: Code.FailedPrecondition, message: 'Changed protected files', restStatus: 405 },
  PUBLIC_ONLY_TOKEN: { code: Code.PermissionDenied, message: 'this token is restricted to public data' },
  PULL_BASE_INVALID: { code: Code.NotFound, message: 'invalid base branch or revision' },
  PULL_REQUEST_ACCESS_LOST: { code: Code.FailedPrecondition, message: noAccess, restStatus: 400 },
  PULL_REQUEST_BRANCH_GONE: {
    code: Code.FailedPrecondition,
    message: ({ branch }) => `cannot open this pull request again, branch ${branch} does not exist`,
    restStatus: 412,
  },
  PULL_REQUEST_CHANGED: { code: Code.Aborted, message: 'the issue is already changed' },
  PULL_REQUEST_CLOSED: { code: Code.FailedPrecondition, message: 'not found', restStatus: 404 },
  PULL_REQUEST_EDIT_DENIED: {
    code: Code.PermissionDenied,
    message: 'only the poster and who may write to pull requests edit this one',
    restStatus: 403,
    isBodiless: true,
  },
  PULL_REQUEST_EXISTS: {
    code: Code.AlreadyExists,
    // Compatible systems number pull requests twice.
    message: ({ id, head_repo_id, base_repo_id, head_branch, base_branch }) =>
      `pull request already exists for these targets [id: ${id}, issue_id: ${id}, head_repo_id: ${head_repo_id}, ` +
      `base_repo_id: ${base_repo_id}, head_branch: ${head_branch}, base_branch: ${base_branch}]`,
  },
  PULL_REQUEST_MERGED: { code: Code.FailedPrecondition, message: 'The PR is already merged', restStatus: 405 },
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
  PULL_REQUEST_UPDATE_DENIED: {
    code: Code.PermissionDenied,
    message: 'the head branch may not be updated like that by this account',
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
  RANGE_NOT_SATISFIABLE: {
    code: Code.OutOfRange,
    message: ({ bytes }) => `the file has ${bytes} bytes`,
    restStatus: 416,
    header: ({ bytes }) => ['content-range', `bytes */${bytes}`],
  },
  RATE_LIMITED: {
    code: Code.ResourceExhausted,
    message: ({ retry_after_seconds }) => `too many attempts; try again in ${retry_after_seconds} s`,
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
  REF_CHANGED: {
    code: Code.Aborted,
    message: ({ ref }) => `somebody else has changed ${ref || 'a ref'} in the meantime`,
  },
  REF_NAME_COLLISION: {
    code: Code.AlreadyExists,
    message: ({ text }) => text ?? 'The branch with the same name already exists.',
  },
  REF_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  REF_REFUSED: { code: Code.PermissionDenied, message: ({ text }) => text ?? 'the change is refused' },
  REGISTRATION_CLOSED: { code: Code.PermissionDenied, message: 'this instance is not open for registration' },
  // The words of compatible systems.
  RELEASE_EXISTS: { code: Code.AlreadyExists, message: 'Release is has no Tag' },
  RELEASE_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  RELEASE_REPOSITORY_EMPTY: { code: Code.FailedPrecondition, message: 'repo is empty', restStatus: 422 },
  RELEASE_TAG_INVALID: {
    code: Code.InvalidArgument,
    message: ({ tag }) => `release tag name is not valid [tag_name: ${tag}]`,
    restStatus: 422,
    field: 'tag_name',
  },
  RELEASE_TAG_PROTECTED: {
    code: Code.PermissionDenied,
    message: ({ tag }) => `release tag name is protected [tag_name: ${tag}]`,
    restStatus: 422,
  },
  RELEASE_TAG_REQUIRED: {
    code: Code.InvalidArgument,
    message: '[TagName]: Required',
    restStatus: 422,
    field: 'tag_name',
  },
  RELEASE_TAG_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ tag }) => `release tag already exist [tag_name: ${tag}]`,
  },
  REPOSITORY_ACCESS_DENIED: {
    code: Code.PermissionDenied,
    message: ({ needed = '' }) => DENIALS.get(needed) ?? DENIED_WRITE,
  },
  REPOSITORY_ARCHIVED: { code: Code.FailedPrecondition, message: 'repo is archived', restStatus: 423 },
  REPOSITORY_EMPTY: { code: Code.FailedPrecondition, message: 'Git Repository is empty.', restStatus: 409 },
  REPOSITORY_EXISTS: { code: Code.AlreadyExists, message: 'The repository with the same name already exists.' },
  REPOSITORY_IS_MIRROR: {
    code: Code.FailedPrecondition,
    message: 'Git Repository is a mirror.',
    restStatus: 403,
  },
  REPOSITORY_MOVED: {
    code: Code.NotFound,
    message: ({ owner, name }) => `the repository is ${owner}/${name} now`,
    restStatus: 301,
    location: movedTo,
  },
  REPOSITORY_NOT_FORK: { code: Code.FailedPrecondition, message: 'repo is not a fork', restStatus: 400 },
  REPOSITORY_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  REPOSITORY_NOT_MIRROR: { code: Code.FailedPrecondition, message: 'Repository is not a mirror' },
  REPOSITORY_TEMPLATE_NOT_FOUND: {
    code: Code.InvalidArgument,
    message: ({ field, name }) => `${field} template does not exist: ${name}`,
    restStatus: 400,
  },
  REPOSITORY_OWNER_RENAMED: {
    code: Code.NotFound,
    message: ({ owner, name }) => `the repository is ${owner}/${name} now`,
    restStatus: 307,
    location: movedTo,
  },
  REPOSITORY_UNIT_CLOSED: {
    code: Code.PermissionDenied,
    message: 'user should have specific read permission or be a repo admin or a site admin',
  },
  REQUEST_ID_REUSED: {
    code: Code.InvalidArgument,
    message: 'this request id was used for a different request',
    field: 'request_id',
  },
  REQUEST_TOO_LARGE: { code: Code.ResourceExhausted, message: 'the request is too large', restStatus: 413 },
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
  REVIEWER_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ kind, name }) => `${kind} doesn't exist: ${name}`,
  },
  REVIEWS_MISSING: { code: Code.FailedPrecondition, message: 'There are official review requests', restStatus: 405 },
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
    message: 'this is for whoever wrote it, and for writers of pull requests',
  },
  REVIEW_COMMENT_NOT_FOUND: {
    code: Code.NotFound,
    message: 'not found',
  },
  REVIEW_COMMIT_UNKNOWN: {
    code: Code.InvalidArgument,
    message: ({ sha }) => `${sha} is no commit of this pull request`,
    restStatus: 422,
  },
  REVIEW_DELETION_DENIED: {
    code: Code.PermissionDenied,
    message: 'a review is deleted by its reviewer',
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
    message: 'only the poster and writers of pull requests choose reviewers',
  },
  REVIEW_STAYS_PENDING: {
    code: Code.InvalidArgument,
    message: 'review stay pending',
    restStatus: 422,
  },
  SCOPE_MISSING: { code: Code.PermissionDenied, message: ({ scope }) => `this token lacks the scope ${scope}` },
  SCOPE_NOT_HELD: {
    code: Code.PermissionDenied,
    message: ({ scope }) => `this token cannot hand on the scope ${scope}, which it does not hold`,
  },
  SERVER_BUSY: { code: Code.Unavailable, message: 'too much is being read at the moment; try again soon' },
  SESSION_REQUIRED: { code: Code.PermissionDenied, message: 'a personal access token may not do that; sign in' },
  SETTING_NOT_UPDATABLE: {
    code: Code.InvalidArgument,
    message: ({ name }) => `${name} is changed through methods of its own`,
  },
  SSH_KEY_IN_USE: {
    code: Code.InvalidArgument,
    message: 'Key content has been used as non-deploy key',
    restStatus: 422,
    field: 'key',
  },
  SSH_KEY_TITLE_TAKEN: {
    code: Code.InvalidArgument,
    message: 'Key title has been used',
    restStatus: 422,
    field: 'title',
  },
  STATUS_CHECKS_MISSING: {
    code: Code.FailedPrecondition,
    message: 'Not all required status checks successful',
    restStatus: 405,
  },
  TAG_EXISTS: { code: Code.AlreadyExists, message: ({ tag }) => `tag already exists [name: ${tag}]` },
  TAG_HAS_RELEASE: {
    code: Code.FailedPrecondition,
    message: 'a tag attached to a release cannot be deleted directly',
    restStatus: 409,
  },
  TAG_NOT_ANNOTATED: {
    code: Code.InvalidArgument,
    message: ({ sha }) => `${sha} is no annotated tag`,
    restStatus: 400,
    field: 'sha',
  },
  TAG_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TAG_PROTECTED: {
    code: Code.PermissionDenied,
    message: ({ action }) => `user not allowed to ${action} protected tag`,
    restStatus: 422,
  },
  TAG_PROTECTION_EXISTS: { code: Code.AlreadyExists, message: 'Tag protection already exist', restStatus: 403 },
  TAG_PROTECTION_INCOMPLETE: {
    code: Code.InvalidArgument,
    message: ({ field }) =>
      field === 'name_pattern' ? 'name_pattern are empty' : 'both whitelist_usernames and whitelist_teams are empty',
    restStatus: 400,
  },
  TAG_PROTECTION_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TAG_TARGET_NOT_FOUND: { code: Code.NotFound, message: 'target not found' },
  TEAM_ALREADY_ADDED: {
    code: Code.AlreadyExists,
    message: ({ team }) => `team '${team}' is already added to repo`,
    restStatus: 422,
  },
  TEAM_EXISTS: {
    code: Code.AlreadyExists,
    message: ({ name }) => `team already exists [name: ${name}]`,
    restStatus: 422,
  },
  TEAM_NOT_ADDED: {
    code: Code.FailedPrecondition,
    message: ({ team }) => `team '${team}' was not added to repo`,
    restStatus: 422,
  },
  TEAM_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TOKEN_NAME_AMBIGUOUS: {
    code: Code.InvalidArgument,
    message: ({ name }) => `multiple matches for token name '${name}'`,
    restStatus: 422,
    field: 'token',
  },
  TOKEN_NAME_TAKEN: {
    code: Code.InvalidArgument,
    message: 'access token name has been used already',
    restStatus: 400,
    field: 'name',
  },
  TOKEN_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  TOO_MANY_ASSETS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a release has at most ${limit} files`,
    restStatus: 422,
  },
  TOO_MANY_BRANCH_PROTECTIONS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a repository has at most ${limit} rules about branches`,
    restStatus: 422,
  },
  TOO_MANY_COMMITS_TO_REBASE: {
    code: Code.FailedPrecondition,
    message: ({ limit }) => `at most ${limit} commits are rebased at once`,
    restStatus: 409,
  },
  TOO_MANY_COPIES: {
    code: Code.ResourceExhausted,
    message: ({ limit }) => `${limit} repositories are being copied already; try again later`,
  },
  TOO_MANY_FILE_CHANGES: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `one call changes at most ${limit} files`,
    restStatus: 422,
    field: 'files',
  },
  TOO_MANY_GIT_HOOKS: {
    code: Code.Unavailable,
    message: 'too many hooks are running at the moment; try again soon',
  },
  TOO_MANY_KEYS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `there are at most ${limit} keys`,
    restStatus: 422,
  },
  TOO_MANY_LABELS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `there are at most ${limit} labels`,
    restStatus: 422,
  },
  TOO_MANY_MILESTONES: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a repository has at most ${limit} milestones`,
    restStatus: 422,
  },
  TOO_MANY_NAMES: { code: Code.InvalidArgument, message: ({ limit }) => `a batch has at most ${limit} names` },
  TOO_MANY_REVIEWERS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a pull request has at most ${limit} requested reviewers`,
    restStatus: 422,
  },
  TOO_MANY_REVIEW_COMMENTS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a review has at most ${limit} comments`,
    restStatus: 422,
  },
  TOO_MANY_STATUS_CONTEXTS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `the statuses of a commit are about at most ${limit} contexts`,
    restStatus: 422,
  },
  TOO_MANY_STREAMS: {
    code: Code.ResourceExhausted,
    message: ({ limit }) => `an account has at most ${limit} streams open`,
  },
  TOO_MANY_TAG_PROTECTIONS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a repository has at most ${limit} rules about tags`,
    restStatus: 422,
  },
  TOO_MANY_TOPICS: {
    code: Code.InvalidArgument,
    message: 'Exceeding maximum number of topics per repo',
    restStatus: 422,
    field: 'topics',
    body: (_, message) => ({ invalidTopics: null, message }),
  },
  TOO_MANY_WEBHOOKS: { code: Code.InvalidArgument, message: ({ limit }) => `an account has at most ${limit} webhooks` },
  TOPIC_LIMIT_REACHED: {
    code: Code.FailedPrecondition,
    message: 'Exceeding maximum allowed topics per repo.',
    restStatus: 422,
    body: (_, message) => ({ message }),
  },
  TOPIC_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TRANSFER_DENIED: { code: Code.PermissionDenied, message: 'the repository is offered to somebody else' },
  TRANSFER_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TRANSFER_PENDING: { code: Code.AlreadyExists, message: 'the repository is offered to somebody already' },
  TRANSFER_TEAM_NOT_FOUND: {
    code: Code.InvalidArgument,
    message: ({ team_id }) => `the new owner has no team ${team_id}`,
    restStatus: 422,
    field: 'team_ids',
  },
  TWO_FACTOR_ALREADY_ENABLED: { code: Code.FailedPrecondition, message: 'this account uses a second factor already' },
  TWO_FACTOR_INVALID: {
    code: Code.Unauthenticated,
    message: 'the passcode or recovery code is wrong or was used before',
  },
  TWO_FACTOR_NOT_ENABLED: { code: Code.FailedPrecondition, message: 'this account uses no second factor' },
  TWO_FACTOR_NOT_PENDING: {
    code: Code.FailedPrecondition,
    message: 'no secret waits for its first passcode; enroll first',
  },
  TWO_FACTOR_REQUIRED: {
    code: Code.Unauthenticated,
    message: 'this account needs a passcode or a recovery code too',
    header: PASSCODE_CHALLENGE,
  },
  UNAUTHENTICATED: { code: Code.Unauthenticated, message: 'sign in first' },
  UNKNOWN_ALLOWLIST_NAME: {
    code: Code.InvalidArgument,
    message: ({ kind, name, organization_id }) =>
      kind === 'team'
        ? `team does not exist [org_id ${organization_id}, team_id 0, name: ${name}]`
        : `user does not exist [uid: 0, name: ${name}]`,
    restStatus: 422,
  },
  UNKNOWN_MASK_PATH: {
    code: Code.InvalidArgument,
    message: ({ path }) => `"${path}" is no field that this mask may name`,
  },
  UNKNOWN_PATH: { code: Code.NotFound, message: 'nothing is served at this path' },
  UNKNOWN_POSTER: {
    code: Code.InvalidArgument,
    message: ({ name }) => `user does not exist [uid: 0, name: ${name}]`,
    restStatus: 400,
    field: 'poster',
  },
  UNKNOWN_USER: {
    code: Code.NotFound,
    message: ({ username }) => `there is no user ${username}`,
    restStatus: 422,
  },
  UNSUPPORTED_OBJECT_FORMAT: {
    code: Code.InvalidArgument,
    message: ({ format }) => `object format is not supported: ${format}`,
    restStatus: 422,
    field: 'object_format_name',
  },
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
  UPSTREAM_ACCESS_DENIED: {
    code: Code.PermissionDenied,
    message: ({ repository_id }) => `permission denied to read base repo ${repository_id}`,
  },
  UPSTREAM_BRANCH_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ repository_id, branch }) => `branch does not exist [repo_id: ${repository_id} name: ${branch}]`,
  },
  USERNAME_CHANGE_CLOSED: { code: Code.PermissionDenied, message: 'only administrators change usernames here' },
  USERNAME_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ username }) => `the username "${username}" is taken`,
    field: 'user.username',
  },
  USER_BLOCKED: { code: Code.PermissionDenied, message: 'user is blocked' },
  USER_ID_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ user_id }) => `the id "${user_id}" is taken`,
    field: 'user_id',
  },
  USER_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  WEAK_PASSWORD: {
    code: Code.InvalidArgument,
    message: ({ min_length, max_bytes }) =>
      `a password has at least ${min_length} characters and at most ${max_bytes} bytes, and is not the username`,
    restStatus: 400,
    field: 'user.password',
  },
  WEBHOOK_DELIVERY_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  WEBHOOK_DISABLED: { code: Code.FailedPrecondition, message: ({ name }) => `${name} was switched off by its target` },
  WEBHOOK_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  WRONG_MERGE_COMMIT: { code: Code.FailedPrecondition, message: 'Wrong commit ID', restStatus: 409 },
}

/** The name of a field as compatible systems have it in the texts about its form. */
function pascalCase(field = ''): string {
  return field.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase()).replace(/Id$/, 'ID')
}

/** Credentials of a kind that would be accepted; RFC 9110 section 11.6.1 wants the header on every 401. */
export const CHALLENGE = 'Bearer realm="branchline"'

/** URLs that are about a repository, over REST and for browsers: what is before its owner, the two names, and the rest. */
const REPOSITORY_URL = /^[a-z]+:\/\/[^/]*((?:\/api\/v1\/(?:[^/]+\/)*?repos)?\/)([^/?]+)\/([^/?]+)(.*)$/

/**
 * Where a request about a repository that moved finds what it asked for. It has to be the same thing there: to whoever follows with
 * a DELETE, a part of a repository must not become the whole.
 */
function movedTo({ owner = '', name = '', former }: Metadata, requestUrl: string): string | undefined {
  const [, before, ownerThen = '', nameThen = '', rest] = REPOSITORY_URL.exec(requestUrl) ?? []
  // A request may name other repositories beside the one that its path is about.
  const isAbout = `${decode(ownerThen)}/${decode(nameThen)}`.toLowerCase() === former
  return isAbout ? `${before}${owner}/${name}${rest}` : undefined
}

/** A segment of a path without percent-encoding; what is no such thing as it is. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/**
 * The RPC error for a refusal, the same on every protocol: code, text, ErrorInfo with the reason, and what else the
 * client's library may act on (BadRequest, RetryInfo).
 *
 * @param requestUrl of the call; without it a refusal that sends clients elsewhere says so in its metadata alone.
 */
export function refusal(reason: Reason | TransportReason, metadata: Metadata = {}, requestUrl?: string): ConnectError {
  const row: Refusal & Partial<SharedRefusal> = REFUSALS[reason]
  const { code, message, field, restStatus, location, body, isBodiless, header, reason: publicReason = reason } = row
  const text = typeof message === 'string' ? message : message(metadata)
  const error = new ConnectError(text, code)
  error.details.push({
    desc: ErrorInfoSchema,
    value: { reason: publicReason, domain: ERROR_DOMAIN, metadata: { ...metadata } },
  })
  const path = field ?? metadata.field
  if (code === Code.InvalidArgument && path !== undefined) {
    error.details.push({
      desc: BadRequestSchema,
      value: { fieldViolations: [{ field: path, description: text, reason: publicReason }] },
    })
  }
  if (metadata.retry_after_seconds !== undefined) {
    const seconds = BigInt(metadata.retry_after_seconds)
    error.details.push({ desc: RetryInfoSchema, value: { retryDelay: { seconds } } })
    error.metadata.set('retry-after', metadata.retry_after_seconds)
  }
  if (restStatus !== undefined) {
    const target = requestUrl === undefined ? undefined : location?.(metadata, requestUrl)
    const headers: Record<string, string> = target === undefined ? {} : { Location: target }
    const content = isBodiless ? { noContent: true } : body && { body: body(metadata, text) }
    const value = { status: restStatus, headers, ...content }
    error.details.push({ desc: HttpStatusSchema, value: create(HttpStatusSchema, value) })
  }
  if (code === Code.Unauthenticated) error.metadata.set('www-authenticate', CHALLENGE)
  if (header) error.metadata.set(...(typeof header === 'function' ? header(metadata) : header))
  return error
}

const REFUSALS_BY_NAME: ReadonlyMap<string, Refusal> = new Map(Object.entries(REFUSALS))

/** The HTTP status of a reason over REST; undefined for names of reasons that this server never answers. */
export function restStatusOf(reason: string): number | undefined {
  const refused = REFUSALS_BY_NAME.get(reason)
  return refused && (refused.restStatus ?? codeToHttpStatus(refused.code))
}

/**
 * The error that a client gets for whatever was thrown: refusals by the table, RPC errors as they are, what comes of a
 * deletion meanwhile as if that had been first, and everything else as INTERNAL without a word about the cause, which
 * belongs in the log.
 *
 * @param requestUrl of the call.
 */
export function toConnectError(error: unknown, requestUrl?: string): ConnectError {
  if (error instanceof ConnectError) return error
  const refused = error instanceof DomainError ? error : deletionBehind(error)
  if (refused) return refusal(refused.reason, refused.metadata, requestUrl)
  return new ConnectError('internal error', Code.Internal, undefined, undefined, error)
}
