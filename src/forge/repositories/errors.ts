import { Code } from '@connectrpc/connect'
import type { Metadata, Refusals } from '../core/refusal.ts'

/** The messages of compatible systems for a missing permission level. */
const DENIED_WRITE = 'user should have a permission to write to a repo'
const DENIALS: ReadonlyMap<string, string> = new Map([
  ['admin', 'user should be an owner or a collaborator with admin write of a repository'],
  ['owner', 'user should be the owner of the repo'],
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
  INVALID_REPOSITORY_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `"${name}" is not a valid repository name`,
    restStatus: 422,
    field: 'name',
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
