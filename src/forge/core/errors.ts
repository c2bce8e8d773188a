import { isForeignKeyViolation, isUnavailable } from '../../platform/database/database.ts'
import { InvalidFilterError } from '../../platform/filters/limits.ts'
import { GitError } from '../../platform/git/core/errors.ts'
import { StoreUnavailableError } from '../../platform/objects/object-store.ts'
import { isForWantOfSpace } from './disk-space.ts'

/**
 * The reasons for which a call is refused. Each is a value of the proto enum ErrorReason, which
 * documents its meaning and metadata. A reason names one situation and so has exactly one status.
 * Two reasons have no enum value and are sent under another one: CODE_REFUSED as BAD_CREDENTIALS,
 * and NO_BRANCHES as REPOSITORY_EMPTY. Their status differs from that of the other one.
 */
export type Reason =
  | 'ACCOUNT_ARCHIVED'
  | 'ACCOUNT_NOT_PURGED'
  | 'ALREADY_QUEUED'
  | 'APPROVALS_MISSING'
  | 'ARCHIVE_OVER_LIMIT'
  | 'ASSET_NOT_FOUND'
  | 'ASSET_TOO_LARGE'
  | 'ASSIGNEE_NOT_ASSIGNABLE'
  | 'ASSIGNEE_NOT_FOUND'
  | 'ATTACHMENT_DENIED'
  | 'ATTACHMENT_NOT_FOUND'
  | 'ATTACHMENT_TOO_LARGE'
  | 'ATTACHMENT_TYPE_REFUSED'
  | 'AUTO_MERGE_CANCEL_DENIED'
  | 'AUTO_MERGE_NOT_SCHEDULED'
  | 'AUTO_MERGE_SCHEDULED'
  | 'AVATAR_NOT_FOUND'
  | 'BAD_CREDENTIALS'
  | 'BLOCKED_ADDRESS'
  | 'BLOCK_NOT_FOUND'
  | 'BRANCH_COMMIT_NOT_FOUND'
  | 'BRANCH_EXISTS'
  | 'BRANCH_HEAD_DIFFERS'
  | 'BRANCH_NAMED_LIKE_TAG'
  | 'BRANCH_NOT_DELETABLE'
  | 'BRANCH_NOT_FOUND'
  | 'BRANCH_PROTECTED'
  | 'BRANCH_PROTECTION_EXISTS'
  | 'BRANCH_PROTECTION_NAMELESS'
  | 'BRANCH_PROTECTION_NOT_FOUND'
  | 'BRANCH_RENAME_CONFLICT'
  | 'BRANCH_RENAME_DENIED'
  | 'BRANCH_RENAME_PROTECTED'
  | 'CANNOT_BLOCK'
  | 'CANNOT_FOLLOW'
  | 'CHANGES_REQUESTED'
  | 'CLONE_FAILED'
  | 'CLOSE_BLOCKED'
  | 'CODE_REFUSED'
  | 'COLLABORATION_REQUIRED'
  | 'COLLABORATOR_NOT_FOUND'
  | 'COMMIT_NOT_FOUND'
  | 'CONVERSATION_LOCKED'
  | 'CROSS_SITE_REQUEST'
  | 'CURSOR_EXPIRED'
  | 'DELETED_MEANWHILE'
  | 'DEPLOY_KEY_EXISTS'
  | 'DEPLOY_KEY_TITLE_TAKEN'
  | 'DEQUEUE_DENIED'
  | 'DIFF_TOO_LARGE'
  | 'DISPLAY_NAME_CHANGE_CLOSED'
  | 'DISK_FULL'
  | 'EMAIL_ALREADY_ADDED'
  | 'EMAIL_NOT_FOUND'
  | 'EMAIL_NOT_VERIFIABLE'
  | 'EMAIL_TAKEN'
  | 'EMPTY_MASK'
  | 'FAST_FORWARD_IMPOSSIBLE'
  | 'FILE_CHANGED'
  | 'FILE_EXISTS'
  | 'FILE_LOCKED'
  | 'FILE_OVER_LIMIT'
  | 'FILE_TOO_LARGE'
  | 'FIRST_ACCOUNT_REFUSED'
  | 'FOLLOW_NOT_FOUND'
  | 'FORCE_REQUIRED'
  | 'FORK_EXISTS'
  | 'GIT_HOOKS_DISABLED'
  | 'GIT_HOOK_ACCESS_DENIED'
  | 'GIT_HOOK_NOT_FOUND'
  | 'GIT_HOOK_REFUSED'
  | 'GIT_MEMORY_EXCEEDED'
  | 'GIT_TIMEOUT'
  | 'GPG_KEY_EMAIL_UNKNOWN'
  | 'GPG_KEY_IN_USE'
  | 'GPG_SIGNATURE_INVALID'
  | 'HAS_ASSOCIATED_DATA'
  | 'HEAD_BEHIND_BASE'
  | 'HEAD_COMMITS_UNVERIFIED'
  | 'HEAD_COMMIT_DIFFERS'
  | 'IDENTITY_ALREADY_LINKED'
  | 'IDENTITY_PROVIDER_ID_TAKEN'
  | 'IDENTITY_PROVIDER_NOT_FOUND'
  | 'IDENTITY_PROVIDER_UNAVAILABLE'
  | 'IDENTITY_REFUSED'
  | 'IDENTITY_TAKEN'
  | 'INVALID_AVATAR'
  | 'INVALID_CLONE_ADDRESS'
  | 'INVALID_COLLABORATOR'
  | 'INVALID_COMPARISON'
  | 'INVALID_CURSOR'
  | 'INVALID_DEFAULT_BRANCH'
  | 'INVALID_DEPENDENCY'
  | 'INVALID_EMAIL'
  | 'INVALID_EMAIL_TOKEN'
  | 'INVALID_EXPIRY'
  | 'INVALID_FIELD'
  | 'INVALID_FILE_CHANGE'
  | 'INVALID_FILE_PATH'
  | 'INVALID_FILTER'
  | 'INVALID_GPG_KEY'
  | 'INVALID_IDENTIFIER_FILTER'
  | 'INVALID_IDENTITY_PROVIDER_ID'
  | 'INVALID_ISSUE_QUERY'
  | 'INVALID_LABEL_COLOR'
  | 'INVALID_LABEL_ID'
  | 'FILTER_OWNER_UNKNOWN'
  | 'FILTER_TEAM_UNKNOWN'
  | 'INVALID_LOCK_REASON'
  | 'INVALID_MEMO_ID'
  | 'INVALID_MERGE_QUEUE'
  | 'INVALID_MERGE_STYLE'
  | 'INVALID_MIRROR_INTERVAL'
  | 'INVALID_NAME'
  | 'INVALID_ORDER'
  | 'INVALID_ORGANIZATION_NAME'
  | 'INVALID_PAGE_SIZE'
  | 'INVALID_PAGE_TOKEN'
  | 'INVALID_PIN_POSITION'
  | 'INVALID_PROJECT_ARCHIVE'
  | 'INVALID_PROTECTION_ORDER'
  | 'INVALID_PULL_REQUEST_STATE'
  | 'INVALID_QUOTA'
  | 'INVALID_REACTION'
  | 'INVALID_REDIRECT_URI'
  | 'INVALID_REF'
  | 'INVALID_REPOSITORY_NAME'
  | 'INVALID_REPOSITORY_SEARCH'
  | 'INVALID_REQUEST_ID'
  | 'INVALID_RESET_TOKEN'
  | 'INVALID_REVIEWER'
  | 'INVALID_REVIEW_LINE'
  | 'INVALID_SCOPE'
  | 'INVALID_SEARCH_EXPRESSION'
  | 'INVALID_SIGNING_SECRET'
  | 'INVALID_SSH_KEY'
  | 'INVALID_STATUS_STATE'
  | 'INVALID_TAG_PATTERN'
  | 'INVALID_TEAM_NAME'
  | 'INVALID_TEAM_UNITS'
  | 'INVALID_TOPIC'
  | 'INVALID_TOPICS'
  | 'INVALID_UPLOAD'
  | 'INVALID_USERNAME'
  | 'INVALID_USER_ID'
  | 'INVALID_WEBHOOK_URL'
  | 'INVALID_ISSUE_STATE'
  | 'ISSUE_CHANGED'
  | 'ISSUE_DELETE_DENIED'
  | 'ISSUE_EDIT_DENIED'
  | 'ISSUE_CREATION_RESTRICTED'
  | 'ISSUE_FORM_INCOMPLETE'
  | 'ISSUE_NOT_FOUND'
  | 'ISSUE_PIN_NOT_FOUND'
  | 'ISSUE_RATE_LIMITED'
  | 'ISSUE_VIEW_NOT_FOUND'
  | 'MERGE_QUEUE_ENTRY_NOT_FOUND'
  | 'MERGE_QUEUE_FULL'
  | 'MERGE_QUEUE_NOT_FOUND'
  | 'QUEUE_JUMP_DENIED'
  | 'TOO_MANY_ISSUE_VIEWS'
  | 'DEPENDENCIES_DISABLED'
  | 'ISSUE_COMMENT_DENIED'
  | 'ISSUE_COMMENT_NOT_FOUND'
  | 'COMMENT_EDIT_NOT_FOUND'
  | 'LABEL_MALFORMED'
  | 'ISSUE_TRANSFERRED'
  | 'INVALID_PARENT'
  | 'IMPORT_CONFLICT'
  | 'IMPORT_NOT_FOUND'
  | 'IMPORT_SOURCE_REFUSED'
  | 'TRANSFER_TARGET_DENIED'
  | 'CONFIRM_PUBLIC_REQUIRED'
  | 'KEY_ACCESS_DENIED'
  | 'KEY_NOT_FOUND'
  | 'LABEL_NOT_FOUND'
  | 'LAST_ADMIN'
  | 'LAST_IDENTITY_PROVIDER'
  | 'LAST_ORGANIZATION_OWNER'
  | 'LAST_SIGN_IN_METHOD'
  | 'LINKED_IDENTITY_NOT_FOUND'
  | 'MAIL_NOT_CONFIGURED'
  | 'MAINTAINER_EDIT_DENIED'
  | 'MAINTENANCE_LIMIT_REACHED'
  | 'OBJECTS_REMOVED'
  | 'PURGE_FAILED'
  | 'LFS_ARCHIVE_TOO_LARGE'
  | 'LFS_OBJECTS_MISSING'
  | 'LFS_OBJECT_NEEDED'
  | 'LFS_OBJECT_NOT_FOUND'
  | 'MEMBER_NOT_FOUND'
  | 'MEMO_ARCHIVED'
  | 'MEMO_ID_TAKEN'
  | 'MEMO_NOT_FOUND'
  | 'MERGE_FILE_LOCKED'
  | 'MERGE_BLOCKED'
  | 'MERGE_CONFLICT'
  | 'MERGE_DENIED'
  | 'MERGE_FAST_FORWARD_IMPOSSIBLE'
  | 'MERGE_OUT_OF_DATE'
  | 'MERGE_PUSH_REFUSED'
  | 'MERGE_STYLE_NOT_ALLOWED'
  | 'MERGE_UNSIGNED'
  | 'MILESTONE_NOT_FOUND'
  | 'NEW_BASE_NOT_FOUND'
  | 'NEW_BRANCH_EXISTS'
  | 'NOTIFICATION_NOT_FOUND'
  | 'NOTIFICATION_THREAD_NOT_FOUND'
  | 'NOT_OWNED_BY_ORGANIZATION'
  | 'NO_BRANCHES'
  | 'OAUTH2_APPLICATION_NOT_FOUND'
  | 'OAUTH2_GRANT_NOT_FOUND'
  | 'OBJECT_NOT_FOUND'
  | 'OLD_BRANCH_NOT_FOUND'
  | 'ORGANIZATION_ACCESS_DENIED'
  | 'ORGANIZATION_HAS_REPOSITORIES'
  | 'ORGANIZATION_NAME_TAKEN'
  | 'ORGANIZATION_NOT_FOUND'
  | 'OWNERS_TEAM_FIXED'
  | 'OWN_PULL_APPROVED'
  | 'OWN_PULL_REJECTED'
  | 'PARENT_PRIVATE'
  | 'PASSWORD_REQUIRED'
  | 'PASSWORD_SIGN_IN_CLOSED'
  | 'PATH_NOT_FOUND'
  | 'PIN_LIMIT_REACHED'
  | 'PERMISSION_DENIED'
  | 'PRIMARY_EMAIL_KEPT'
  | 'PROTECTED_FILES_CHANGED'
  | 'PUBLIC_ONLY_TOKEN'
  | 'PULL_BASE_INVALID'
  | 'PULL_REQUEST_ACCESS_LOST'
  | 'PULL_REQUEST_BRANCH_GONE'
  | 'PULL_REQUEST_CHANGED'
  | 'PULL_REQUEST_CLOSED'
  | 'PULL_REQUEST_EDIT_DENIED'
  | 'PULL_REQUEST_EXISTS'
  | 'PULL_REQUEST_MERGED'
  | 'PULL_REQUEST_NOT_FOUND'
  | 'PULL_REQUEST_NOT_MERGEABLE'
  | 'PULL_REQUEST_NOT_MERGED'
  | 'PULL_REQUEST_NOT_OF_BRANCHES'
  | 'PULL_REQUEST_STATE_FIXED'
  | 'PULL_REQUEST_UNRELATED'
  | 'PULL_REQUEST_UPDATE_DENIED'
  | 'PULL_REQUEST_WITHOUT_CHANGES'
  | 'PULL_REQUEST_WORK_IN_PROGRESS'
  | 'PUSH_MIRROR_NOT_FOUND'
  | 'QUOTA_EXCEEDED'
  | 'QUOTA_GROUP_EXISTS'
  | 'QUOTA_GROUP_NOT_FOUND'
  | 'QUOTA_MEMBER_EXISTS'
  | 'QUOTA_MEMBER_NOT_FOUND'
  | 'QUOTA_RULE_EXISTS'
  | 'QUOTA_RULE_NOT_FOUND'
  | 'RANGE_NOT_SATISFIABLE'
  | 'RATE_LIMITED'
  | 'REBASE_CONFLICT'
  | 'REF_CHANGED'
  | 'REF_NAME_COLLISION'
  | 'REF_NOT_FOUND'
  | 'REF_REFUSED'
  | 'REGISTRATION_CLOSED'
  | 'RELEASE_EXISTS'
  | 'RELEASE_NOT_FOUND'
  | 'RELEASE_REPOSITORY_EMPTY'
  | 'RELEASE_TAG_INVALID'
  | 'RELEASE_TAG_PROTECTED'
  | 'RELEASE_TAG_REQUIRED'
  | 'RELEASE_TAG_TAKEN'
  | 'REPOSITORY_ACCESS_DENIED'
  | 'REPOSITORY_ARCHIVED'
  | 'REPOSITORY_EMPTY'
  | 'REPOSITORY_EXISTS'
  | 'REPOSITORY_LIMIT_REACHED'
  | 'REPOSITORY_IMPORTING'
  | 'REPOSITORY_IS_MIRROR'
  | 'REPOSITORY_MOVED'
  | 'REPOSITORY_NOT_FORK'
  | 'REPOSITORY_NOT_FOUND'
  | 'REPOSITORY_NOT_MIRROR'
  | 'REPOSITORY_NOT_TEMPLATE'
  | 'REPOSITORY_NOT_WATCHED'
  | 'REPOSITORY_OWNER_RENAMED'
  | 'REPOSITORY_TEMPLATE_NOT_FOUND'
  | 'REPOSITORY_UNIT_CLOSED'
  | 'REQUEST_ID_REUSED'
  | 'RETARGET_OF_CLOSED'
  | 'RETARGET_OF_MERGED'
  | 'REVIEWER_NOT_FOUND'
  | 'REVIEWS_MISSING'
  | 'REVIEW_BODY_REQUIRED'
  | 'REVIEW_COMMENT_DENIED'
  | 'REVIEW_COMMENT_NOT_FOUND'
  | 'REVIEW_COMMIT_UNKNOWN'
  | 'REVIEW_DELETION_DENIED'
  | 'REVIEW_DISMISSAL_CLOSED'
  | 'REVIEW_DISMISSAL_DENIED'
  | 'REVIEW_NOT_DISMISSIBLE'
  | 'REVIEW_NOT_FOUND'
  | 'REVIEW_NOT_PENDING'
  | 'REVIEW_ON_CLOSED_PULL'
  | 'REVIEW_REQUEST_CLOSED'
  | 'REVIEW_REQUEST_DENIED'
  | 'REVIEW_STAYS_PENDING'
  | 'SCOPE_MISSING'
  | 'SCOPE_NOT_HELD'
  | 'SERVER_BUSY'
  | 'SESSION_NOT_FOUND'
  | 'CONFIRMATION_REQUIRED'
  | 'SESSION_REQUIRED'
  | 'SETTING_NOT_UPDATABLE'
  | 'SOLE_ORGANIZATION_OWNER'
  | 'SSH_IS_OFF'
  | 'SSH_KEY_IN_USE'
  | 'SSH_KEY_TITLE_TAKEN'
  | 'SSH_SESSION_NOT_FOUND'
  | 'STACK_NOT_READY'
  | 'STACK_TOO_LARGE'
  | 'STAR_NOT_FOUND'
  | 'STORAGE_UNAVAILABLE'
  | 'STATUS_CHECKS_MISSING'
  | 'STOPWATCH_DENIED'
  | 'SUBSCRIPTION_DENIED'
  | 'SUDO_DENIED'
  | 'SUGGESTION_DENIED'
  | 'SUGGESTION_MISSING'
  | 'SUGGESTION_ON_CLOSED_PULL'
  | 'SUGGESTION_OUTDATED'
  | 'SUGGESTIONS_OVERLAP'
  | 'TAG_EXISTS'
  | 'TAG_HAS_RELEASE'
  | 'TAG_NOT_ANNOTATED'
  | 'TAG_NOT_FOUND'
  | 'TAG_PROTECTED'
  | 'TAG_PROTECTION_EXISTS'
  | 'TAG_PROTECTION_INCOMPLETE'
  | 'TAG_PROTECTION_NOT_FOUND'
  | 'TAG_TARGET_NOT_FOUND'
  | 'TEAM_ALREADY_ADDED'
  | 'TEAM_EXISTS'
  | 'TEAM_NOT_ADDED'
  | 'TEAM_NOT_FOUND'
  | 'TEMPLATE_NOT_FOUND'
  | 'TEMPLATE_PARTS_MISSING'
  | 'TEMPLATE_PART_UNSUPPORTED'
  | 'TEXT_TOO_COMPLEX'
  | 'TIME_NOT_TRACKED'
  | 'TIME_TRACKING_DISABLED'
  | 'TOKEN_NAME_AMBIGUOUS'
  | 'TOKEN_NAME_TAKEN'
  | 'TOKEN_NOT_FOUND'
  | 'TOO_MANY_ASSETS'
  | 'TOO_MANY_ATTACHMENTS'
  | 'TOO_MANY_BRANCH_PROTECTIONS'
  | 'TOO_MANY_COMMITS_TO_REBASE'
  | 'TOO_MANY_COPIES'
  | 'TOO_MANY_EMAILS'
  | 'TOO_MANY_FILE_CHANGES'
  | 'TOO_MANY_GIT_HOOKS'
  | 'TOO_MANY_KEYS'
  | 'TOO_MANY_LABELS'
  | 'TOO_MANY_MILESTONES'
  | 'TOO_MANY_NAMES'
  | 'TOO_MANY_OAUTH2_APPLICATIONS'
  | 'TOO_MANY_PUSH_MIRRORS'
  | 'TOO_MANY_REVIEWERS'
  | 'TOO_MANY_REVIEW_COMMENTS'
  | 'TOO_MANY_STATUS_CONTEXTS'
  | 'TOO_MANY_STREAMS'
  | 'TOO_MANY_TAG_PROTECTIONS'
  | 'TOO_MANY_TOPICS'
  | 'TOO_MANY_VIEWED_FILES'
  | 'TOO_MANY_WEBHOOKS'
  | 'TOPIC_LIMIT_REACHED'
  | 'TOPIC_NOT_FOUND'
  | 'TRANSFER_DENIED'
  | 'TRANSFER_NAME_TAKEN'
  | 'TRANSFER_NOT_FOUND'
  | 'TRANSFER_PENDING'
  | 'TRANSFER_TEAM_NOT_FOUND'
  | 'TWO_FACTOR_ALREADY_ENABLED'
  | 'TWO_FACTOR_INVALID'
  | 'TWO_FACTOR_NOT_ENABLED'
  | 'TWO_FACTOR_NOT_PENDING'
  | 'TWO_FACTOR_REQUIRED'
  | 'UNAUTHENTICATED'
  | 'UNKNOWN_ALLOWLIST_NAME'
  | 'UNKNOWN_MAINTENANCE_STEP'
  | 'UNKNOWN_MASK_PATH'
  | 'UNKNOWN_POSTER'
  | 'UNKNOWN_USER'
  | 'UNSUPPORTED_OBJECT_FORMAT'
  | 'UPDATE_CONFLICT'
  | 'UPDATE_OF_CLOSED'
  | 'UPDATE_OF_MERGED'
  | 'UPDATE_REBASE_CONFLICT'
  | 'UPSTREAM_ACCESS_DENIED'
  | 'UPSTREAM_BRANCH_NOT_FOUND'
  | 'USERNAME_CHANGE_CLOSED'
  | 'USERNAME_TAKEN'
  | 'USER_BLOCKED'
  | 'USER_ID_TAKEN'
  | 'USER_NOT_FOUND'
  | 'WEAK_PASSWORD'
  | 'WEBHOOK_DELIVERY_NOT_FOUND'
  | 'WEBHOOK_DISABLED'
  | 'WEBHOOK_NOT_FOUND'
  | 'WRONG_MERGE_COMMIT'

/** A request that the rules refuse. Any other error is a fault of the server. */
export class DomainError extends Error {
  readonly reason: Reason
  /** Facts for programs, as documented for the reason. Never contains a secret. */
  readonly metadata: Readonly<Record<string, string>>

  constructor(reason: Reason, metadata: Readonly<Record<string, string>> = {}) {
    super(reason)
    this.name = 'DomainError'
    this.reason = reason
    this.metadata = metadata
  }
}

/**
 * Returns the domain error for an error of Git or the database that is no fault of this program: a
 * concurrent deletion, a limit, a full disk, or a database or an object storage that is unavailable. Undefined for other errors.
 */
export function outsideError(error: unknown): DomainError | undefined {
  if (isForWantOfSpace(error)) return new DomainError('DISK_FULL')
  if (error instanceof StoreUnavailableError)
    return new DomainError('STORAGE_UNAVAILABLE', {
      retry_after_seconds: String(STORAGE_RETRY_SECONDS),
    })
  return databaseError(error) ?? deletionError(error) ?? gitLimitError(error) ?? filterError(error)
}

function filterError(error: unknown): DomainError | undefined {
  return error instanceof InvalidFilterError
    ? new DomainError('INVALID_FILTER', { filter: error.filter })
    : undefined
}

/** Returns the domain error for a database that is unavailable; undefined for other errors. */
export function databaseError(error: unknown): DomainError | undefined {
  return isUnavailable(error) ? busy() : undefined
}

const busy = () =>
  new DomainError('SERVER_BUSY', { retry_after_seconds: String(RETRY_AFTER_SECONDS) })

/** Delay before a retry when the server is busy. */
const RETRY_AFTER_SECONDS = 5

/** Delay before a retry when the object storage does not answer. */
const STORAGE_RETRY_SECONDS = 10

/**
 * Returns the domain error for a Git error caused by a limit on load, time or memory; undefined for
 * other errors.
 */
export function gitLimitError(error: unknown): DomainError | undefined {
  if (!(error instanceof GitError)) return undefined
  switch (error.kind) {
    case 'BUSY':
      return busy()
    case 'TIMEOUT':
      return new DomainError('GIT_TIMEOUT')
    case 'OUT_OF_MEMORY':
      return new DomainError('GIT_MEMORY_EXCEEDED')
    default:
      return undefined
  }
}

/**
 * Returns the domain error for a storage or Git error caused by a concurrent deletion; undefined
 * for other errors. What a call works on may be deleted at any time, and no check in advance can
 * prevent that.
 */
export function deletionError(error: unknown): DomainError | undefined {
  if (error instanceof GitError && error.kind === 'NO_REPOSITORY')
    return new DomainError('REPOSITORY_NOT_FOUND')
  return isForeignKeyViolation(error) ? new DomainError('DELETED_MEANWHILE') : undefined
}

/** Enough for people to recognise the text that they sent. */
const MAX_SHOWN_CHARACTERS = 100

/** Shortens a text sent by a client for use as metadata. */
export function metadataText(text: string): string {
  return text.slice(0, MAX_SHOWN_CHARACTERS)
}

/** Maximum length of a text in a list. */
const MAX_LISTED_CHARACTERS = 250

/** Returns texts as a JSON array for use as metadata. Texts beyond the size limit are left out. */
export function metadataList(texts: readonly string[], maxBytes: number): string {
  const listed: string[] = []
  let bytes = 2
  for (const text of texts) {
    const cut = text.slice(0, MAX_LISTED_CHARACTERS)
    bytes += Buffer.byteLength(JSON.stringify(cut)) + 1
    if (bytes > maxBytes) break
    listed.push(cut)
  }
  return JSON.stringify(listed)
}
