import { Code } from '@connectrpc/connect'
import type { Refusals } from '../../core/refusal.ts'

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
