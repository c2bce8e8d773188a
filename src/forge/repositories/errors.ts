import { Code } from '@connectrpc/connect'
import type { Metadata, Refusals } from '../core/refusal.ts'

/** The messages of compatible systems for a missing permission level. */
const DENIED_WRITE = 'user should have a permission to write to a repo'
const DENIALS: ReadonlyMap<string, string> = new Map([
  ['admin', 'user should be an owner or a collaborator with admin write of a repository'],
  ['owner', 'user should be the owner of the repo'],
  ['deadline', 'Not repo writer'],
])

/** URLs of a repository over REST and for browsers: prefix, owner, name and rest. */
const REPOSITORY_URL =
  /^[a-z]+:\/\/[^/]*((?:\/api\/v1\/(?:[^/]+\/)*?repos)?\/)([^/?]+)\/([^/?]+)(.*)$/

/**
 * Returns the path and query of the same resource in a repository that has moved. The rest of the
 * URL must stay: a redirected DELETE of a part of the repository must not delete the repository.
 */
function movedTo(
  { owner = '', name = '', former }: Metadata,
  requestUrl: string,
): string | undefined {
  const [, before, ownerThen = '', nameThen = '', rest] = REPOSITORY_URL.exec(requestUrl) ?? []
  // The former repository may be one that the request names outside of its path.
  const isAbout = `${decode(ownerThen)}/${decode(nameThen)}`.toLowerCase() === former
  return isAbout ? `${before}${owner}/${name}${rest}` : undefined
}

/** Decodes a path segment. Returns a malformed segment as it is. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Errors of repositories, their copies and permissions. */
export const REPOSITORIES = {
  CLONE_FAILED: {
    code: Code.FailedPrecondition,
    message: ({ cause }) => `the repository could not be copied: ${cause}`,
    restStatus: 422,
  },
  COLLABORATOR_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  FAST_FORWARD_IMPOSSIBLE: {
    code: Code.FailedPrecondition,
    message: 'fast-forward merge not possible: branch has diverged',
    restStatus: 400,
  },
  FORK_EXISTS: {
    code: Code.AlreadyExists,
    message: ({ owner }) => `${owner} already owns this repository or a fork of it`,
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
        : `the permission must be read, write or admin, not "${permission}"`,
    restStatus: 422,
  },
  INVALID_DEFAULT_BRANCH: {
    code: Code.InvalidArgument,
    message: ({ branch }) => `"${branch}" cannot be the default branch`,
    restStatus: 422,
    field: 'default_branch',
  },
  INVALID_MERGE_STYLE: {
    code: Code.InvalidArgument,
    message: ({ field, style }) => `${field} cannot be "${style}"`,
    restStatus: 422,
  },
  INVALID_MIRROR_INTERVAL: {
    code: Code.InvalidArgument,
    message: ({ interval }) => `the interval must be 0 or at least 10m0s, not "${interval}"`,
    restStatus: 422,
    field: 'mirror_interval',
  },
  INVALID_QUOTA: {
    code: Code.InvalidArgument,
    message: ({ field, value }) =>
      value === '' ? `${field} is required` : `"${value}" is not a valid value of ${field}`,
    restStatus: 422,
  },
  INVALID_REPOSITORY_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `"${name}" is not a valid repository name`,
    restStatus: 422,
    field: 'name',
  },
  INVALID_SEARCH_EXPRESSION: {
    code: Code.InvalidArgument,
    message: ({ fault }) =>
      fault === 'unsupported'
        ? 'the Git of this server cannot search for regular expressions'
        : 'q is no regular expression in the syntax of RE2, or is too large',
    restStatus: 422,
    field: 'q',
  },
  INVALID_REPOSITORY_SEARCH: {
    code: Code.InvalidArgument,
    message: ({ field, value }) => `Invalid search ${field}: "${value}"`,
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
  PARENT_PRIVATE: {
    code: Code.FailedPrecondition,
    message: 'a fork of a private repository must be private',
    restStatus: 422,
  },
  REPOSITORY_LIMIT_REACHED: {
    code: Code.ResourceExhausted,
    message: ({ limit }) => `the owner has reached the limit of ${limit} repositories`,
    restStatus: 422,
  },
  QUOTA_EXCEEDED: {
    code: Code.ResourceExhausted,
    message: 'quota exceeded',
    restStatus: 413,
    body: ({ subject = '', limit, used }, message) => ({
      message,
      url: '/openapi.json',
      reason: 'QUOTA_EXCEEDED',
      subject,
      ...(limit !== undefined && { limit: Number(limit) }),
      ...(used !== undefined && { used: Number(used) }),
    }),
  },
  QUOTA_GROUP_EXISTS: {
    code: Code.AlreadyExists,
    message: ({ group }) => `quota group "${group}" already exists`,
    restStatus: 409,
  },
  QUOTA_GROUP_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ group }) => `quota group "${group}" does not exist`,
  },
  QUOTA_MEMBER_EXISTS: {
    code: Code.AlreadyExists,
    message: 'the user is in the quota group already',
    restStatus: 409,
  },
  QUOTA_MEMBER_NOT_FOUND: { code: Code.NotFound, message: 'the user is not in the quota group' },
  QUOTA_RULE_EXISTS: {
    code: Code.AlreadyExists,
    message: ({ rule }) => `quota rule "${rule}" already exists`,
    restStatus: 409,
  },
  QUOTA_RULE_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ rule }) => `quota rule "${rule}" does not exist`,
  },
  REPOSITORY_ACCESS_DENIED: {
    code: Code.PermissionDenied,
    message: ({ needed = '' }) => DENIALS.get(needed) ?? DENIED_WRITE,
  },
  REPOSITORY_ARCHIVED: {
    code: Code.FailedPrecondition,
    message: 'repo is archived',
    restStatus: 423,
  },
  REPOSITORY_EMPTY: {
    code: Code.FailedPrecondition,
    message: 'Git Repository is empty.',
    restStatus: 409,
  },
  REPOSITORY_EXISTS: {
    code: Code.AlreadyExists,
    message: 'The repository with the same name already exists.',
  },
  REPOSITORY_IS_MIRROR: {
    code: Code.FailedPrecondition,
    message: 'Git Repository is a mirror.',
    restStatus: 403,
  },
  REPOSITORY_MOVED: {
    code: Code.NotFound,
    message: ({ owner, name }) => `the repository has moved to ${owner}/${name}`,
    restStatus: 301,
    location: movedTo,
  },
  REPOSITORY_NOT_FORK: {
    code: Code.FailedPrecondition,
    message: 'repo is not a fork',
    restStatus: 400,
  },
  REPOSITORY_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  STAR_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  REPOSITORY_NOT_MIRROR: { code: Code.FailedPrecondition, message: 'Repository is not a mirror' },
  REPOSITORY_NOT_WATCHED: { code: Code.NotFound, message: 'not found' },
  REPOSITORY_OWNER_RENAMED: {
    code: Code.NotFound,
    message: ({ owner, name }) => `the repository has moved to ${owner}/${name}`,
    restStatus: 307,
    location: movedTo,
  },
  REPOSITORY_TEMPLATE_NOT_FOUND: {
    code: Code.InvalidArgument,
    message: ({ field, name }) => `${field} template does not exist: ${name}`,
    restStatus: 400,
  },
  REPOSITORY_UNIT_CLOSED: {
    code: Code.PermissionDenied,
    message: 'user should have specific read permission or be a repo admin or a site admin',
  },
  TEMPLATE_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ name }) => `no template has the name ${name}`,
  },
  PUSH_MIRROR_NOT_FOUND: { code: Code.NotFound, message: 'the push mirror does not exist' },
  TOO_MANY_PUSH_MIRRORS: {
    code: Code.FailedPrecondition,
    message: ({ limit }) => `a repository has at most ${limit} push mirrors`,
    restStatus: 422,
  },
  REPOSITORY_NOT_TEMPLATE: {
    code: Code.FailedPrecondition,
    message: 'this is not a template repo',
    restStatus: 422,
  },
  TEMPLATE_PARTS_MISSING: {
    code: Code.InvalidArgument,
    message: 'must select at least one template item',
    restStatus: 422,
  },
  TEMPLATE_PART_UNSUPPORTED: {
    code: Code.InvalidArgument,
    message: ({ field }) => `this server does not copy ${field} from templates`,
    restStatus: 422,
  },
  FILE_OVER_LIMIT: {
    code: Code.InvalidArgument,
    message: ({ size, limit }) => `the file has ${size}, the limit is ${limit}`,
    restStatus: 422,
    field: 'content',
  },
  FILE_TOO_LARGE: {
    code: Code.FailedPrecondition,
    message: ({ limit }) => `the file has more than ${limit} lines, or more than 1 MiB`,
    restStatus: 422,
  },
  TEXT_TOO_COMPLEX: {
    code: Code.InvalidArgument,
    message: 'the text is too complex to render',
    restStatus: 422,
  },
  UNKNOWN_MAINTENANCE_STEP: {
    code: Code.InvalidArgument,
    message: ({ name }) => `there is no step ${name}`,
    restStatus: 422,
    field: 'steps',
  },
  MAINTENANCE_LIMIT_REACHED: {
    code: Code.ResourceExhausted,
    message: 'maintenance of this repository was requested less than an hour ago',
  },
  OBJECTS_REMOVED: {
    code: Code.Aborted,
    message: 'the repository was being cleaned; try again',
  },
  PURGE_FAILED: {
    code: Code.Unavailable,
    message: ({ cause }) => `the repository could not be cleaned: ${cause}`,
  },
  TOO_MANY_COPIES: {
    code: Code.ResourceExhausted,
    message: ({ limit }) => `${limit} repositories are already being copied; try again later`,
  },
  TOO_MANY_TOPICS: {
    code: Code.InvalidArgument,
    message: 'Exceeding maximum number of topics per repo',
    restStatus: 422,
    field: 'topics',
    body: (_, message) => ({ invalidTopics: null, message }),
  },
  TOPIC_LIMIT_REACHED: {
    code: Code.FailedPrecondition,
    message: 'Exceeding maximum allowed topics per repo.',
    restStatus: 422,
    body: (_, message) => ({ message }),
  },
  TOPIC_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TRANSFER_DENIED: {
    code: Code.PermissionDenied,
    message: 'the pending transfer is to another owner',
  },
  TRANSFER_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TRANSFER_NAME_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ name }) => `the new owner already has a repository of the name ${name}`,
    restStatus: 422,
  },
  TRANSFER_PENDING: {
    code: Code.AlreadyExists,
    message: 'the repository already has a pending transfer',
  },
  TRANSFER_TEAM_NOT_FOUND: {
    code: Code.InvalidArgument,
    message: ({ team_id }) => `the new owner has no team ${team_id}`,
    restStatus: 422,
    field: 'team_ids',
  },
  UNSUPPORTED_OBJECT_FORMAT: {
    code: Code.InvalidArgument,
    message: ({ format }) => `object format is not supported: ${format}`,
    restStatus: 422,
    field: 'object_format_name',
  },
  UPSTREAM_ACCESS_DENIED: {
    code: Code.PermissionDenied,
    message: ({ repository_id }) => `permission denied to read base repo ${repository_id}`,
  },
  UPSTREAM_BRANCH_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ repository_id, branch }) =>
      `branch does not exist [repo_id: ${repository_id} name: ${branch}]`,
  },
} satisfies Refusals

/** Errors of commits, files and other Git objects. */
export const CONTENTS = {
  COMMIT_NOT_FOUND: { code: Code.NotFound, message: ({ ref }) => `commit doesn't exist: ${ref}` },
  DIFF_TOO_LARGE: {
    code: Code.ResourceExhausted,
    message: 'the diff is too large for one response; fetch the commits with Git',
    restStatus: 422,
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
  GIT_MEMORY_EXCEEDED: {
    code: Code.ResourceExhausted,
    message: 'reading this takes more memory than the server allows; fetch it with Git',
    restStatus: 422,
  },
  GIT_TIMEOUT: {
    code: Code.DeadlineExceeded,
    message: 'reading this takes longer than the server allows',
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
  OBJECT_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  PATH_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TOO_MANY_FILE_CHANGES: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `one call can change at most ${limit} files`,
    restStatus: 422,
    field: 'files',
  },
} satisfies Refusals

/** Errors of branches, tags and other refs, and of their protection rules. */
export const BRANCHES = {
  BRANCH_COMMIT_NOT_FOUND: {
    code: Code.InvalidArgument,
    message: ({ id }) => `object does not exist [id: ${id}, rel_path: ]`,
    restStatus: 422,
    field: 'new_commit_id',
  },
  BRANCH_EXISTS: { code: Code.AlreadyExists, message: 'The branch already exists.' },
  BRANCH_HEAD_DIFFERS: {
    code: Code.FailedPrecondition,
    message: ({ expected, given }) =>
      `branch commit does not match [expected: ${expected}, given: ${given}]`,
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
  INVALID_MERGE_QUEUE: {
    code: Code.InvalidArgument,
    message: ({ field, text }) => `${field} ${text}`,
    restStatus: 422,
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
    message:
      'Cannot rename a branch using the same name or rename to a branch that already exists.',
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
  FORCE_REQUIRED: {
    code: Code.FailedPrecondition,
    message: ({ branch }) => `Force push ${branch} need a confirm force parameter`,
    restStatus: 422,
  },
  INVALID_PROTECTION_ORDER: {
    code: Code.InvalidArgument,
    message: ({ id }) => `rule ${id} is listed twice or does not exist`,
    restStatus: 422,
    field: 'ids',
  },
  INVALID_REF: {
    code: Code.InvalidArgument,
    message: ({ ref }) => `no valid ref or sha: ${ref}`,
    restStatus: 422,
  },
  INVALID_TAG_PATTERN: {
    code: Code.InvalidArgument,
    message:
      'the pattern must be a glob, or a regular expression in RE2 syntax between slashes, and must not be too long',
    restStatus: 422,
    field: 'name_pattern',
  },
  NEW_BRANCH_EXISTS: {
    code: Code.AlreadyExists,
    message: ({ branch }) => `branch already exists [name: ${branch}]`,
    restStatus: 422,
  },
  NO_BRANCHES: {
    reason: 'REPOSITORY_EMPTY',
    code: Code.FailedPrecondition,
    message: 'Git Repository is empty.',
    restStatus: 404,
  },
  OLD_BRANCH_NOT_FOUND: { code: Code.NotFound, message: 'The old branch does not exist' },
  FILE_LOCKED: {
    code: Code.FailedPrecondition,
    message: ({ text }) => text ?? 'the file is locked',
    restStatus: 423,
  },
  LFS_ARCHIVE_TOO_LARGE: {
    code: Code.ResourceExhausted,
    message: ({ max_bytes }) => `the objects in the archive have more than ${max_bytes} bytes`,
    restStatus: 413,
  },
  LFS_OBJECTS_MISSING: {
    code: Code.FailedPrecondition,
    message: ({ text }) => text ?? 'objects of Git LFS are missing',
    restStatus: 422,
  },
  LFS_OBJECT_NEEDED: {
    code: Code.FailedPrecondition,
    message: ({ commit }) => `the object is needed${commit ? ` by commit ${commit}` : ''}`,
    restStatus: 409,
  },
  LFS_OBJECT_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  REF_CHANGED: {
    code: Code.Aborted,
    message: ({ ref }) => `${ref || 'a ref'} was changed by another request; try again`,
  },
  REF_NAME_COLLISION: {
    code: Code.AlreadyExists,
    message: ({ text }) => text ?? 'The branch with the same name already exists.',
  },
  REF_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  REF_REFUSED: {
    code: Code.PermissionDenied,
    message: ({ text }) => text ?? 'the ref update was rejected',
  },
  TAG_EXISTS: {
    code: Code.AlreadyExists,
    message: ({ tag }) => `tag already exists [name: ${tag}]`,
  },
  TAG_HAS_RELEASE: {
    code: Code.FailedPrecondition,
    message: 'a tag attached to a release cannot be deleted directly',
    restStatus: 409,
  },
  TAG_NOT_ANNOTATED: {
    code: Code.InvalidArgument,
    message: ({ sha }) => `${sha} is not an annotated tag`,
    restStatus: 400,
    field: 'sha',
  },
  TAG_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TAG_PROTECTED: {
    code: Code.PermissionDenied,
    message: ({ action }) => `user not allowed to ${action} protected tag`,
    restStatus: 422,
  },
  TAG_PROTECTION_EXISTS: {
    code: Code.AlreadyExists,
    message: 'Tag protection already exist',
    restStatus: 403,
  },
  TAG_PROTECTION_INCOMPLETE: {
    code: Code.InvalidArgument,
    message: ({ field }) =>
      field === 'name_pattern'
        ? 'name_pattern are empty'
        : 'both whitelist_usernames and whitelist_teams are empty',
    restStatus: 400,
  },
  TAG_PROTECTION_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TAG_TARGET_NOT_FOUND: { code: Code.NotFound, message: 'target not found' },
  TOO_MANY_BRANCH_PROTECTIONS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a repository can have at most ${limit} branch protection rules`,
    restStatus: 422,
  },
  TOO_MANY_TAG_PROTECTIONS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a repository can have at most ${limit} tag protection rules`,
    restStatus: 422,
  },
  UNKNOWN_ALLOWLIST_NAME: {
    code: Code.InvalidArgument,
    message: ({ kind, name, organization_id }) =>
      kind === 'team'
        ? `team does not exist [org_id ${organization_id}, team_id 0, name: ${name}]`
        : `user does not exist [uid: 0, name: ${name}]`,
    restStatus: 422,
  },
} satisfies Refusals

/** The message of compatible systems, whether hooks are disabled or the user lacks the right. */
const HOOKS_DENIED = 'must be allowed to edit Git hooks'

/** Errors of Git hooks. */
export const GIT_HOOKS = {
  GIT_HOOKS_DISABLED: { code: Code.PermissionDenied, message: HOOKS_DENIED },
  GIT_HOOK_ACCESS_DENIED: { code: Code.PermissionDenied, message: HOOKS_DENIED },
  GIT_HOOK_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  GIT_HOOK_REFUSED: {
    code: Code.PermissionDenied,
    message: ({ text }) => text || 'push is rejected',
  },
  TOO_MANY_GIT_HOOKS: {
    code: Code.Unavailable,
    message: 'too many hooks are running; try again soon',
  },
} satisfies Refusals

/** Errors of releases and their files. */
export const RELEASES = {
  ASSET_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  ASSET_TOO_LARGE: {
    code: Code.ResourceExhausted,
    message: ({ max_bytes }) => `a file can have at most ${max_bytes} bytes`,
    restStatus: 413,
  },
  INVALID_UPLOAD: {
    code: Code.InvalidArgument,
    message: 'the content must be a form with a file in the field "attachment"',
    restStatus: 400,
    field: 'attachment',
  },
  // The message of compatible systems.
  RELEASE_EXISTS: { code: Code.AlreadyExists, message: 'Release is has no Tag' },
  RELEASE_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  RELEASE_REPOSITORY_EMPTY: {
    code: Code.FailedPrecondition,
    message: 'repo is empty',
    restStatus: 422,
  },
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
  TOO_MANY_ASSETS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a release can have at most ${limit} files`,
    restStatus: 422,
  },
} satisfies Refusals
