import { Code } from '@connectrpc/connect'
import type { Refusals } from '../core/refusal.ts'

/** Errors of organisations and teams. */
export const ORGANIZATIONS = {
  INVALID_ORGANIZATION_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `"${name}" is not a valid organization name`,
    restStatus: 422,
    field: 'username',
  },
  INVALID_TEAM_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `"${name}" is not a valid team name`,
    restStatus: 422,
    field: 'name',
  },
  INVALID_TEAM_UNITS: {
    code: Code.InvalidArgument,
    message: ({ unit, level }) => {
      if (unit !== undefined) return `there is no unit "${unit}"`
      return level === undefined
        ? 'units permission should not be empty'
        : `"${level}" is not a valid permission for a unit`
    },
    restStatus: 422,
  },
  LAST_ORGANIZATION_OWNER: {
    code: Code.FailedPrecondition,
    message: ({ organization }) => `${organization} would be left without an owner`,
    restStatus: 422,
  },
  MEMBER_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  NOT_OWNED_BY_ORGANIZATION: {
    code: Code.FailedPrecondition,
    message: 'repo is not owned by an organization',
    restStatus: 405,
  },
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
    message: 'the name and the permissions of the Owners team cannot be changed',
    restStatus: 422,
  },
  SOLE_ORGANIZATION_OWNER: {
    reason: 'LAST_ORGANIZATION_OWNER',
    code: Code.FailedPrecondition,
    message: ({ organization }) => `${organization} would be left without an owner`,
  },
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
} satisfies Refusals
