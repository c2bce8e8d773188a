import { Code } from '@connectrpc/connect'
import type { Refusals } from './refusal.ts'

/**
 * Tells clients that read no reasons to ask for a one-time passcode and to send it in this header.
 */
export const PASSCODE_CHALLENGE = ['x-service-otp', 'required'] as const

/** Refusals about credentials, and about what proves who somebody is. */
export const CREDENTIALS = {
  ACCOUNT_ARCHIVED: { code: Code.PermissionDenied, message: 'this account is archived' },
  BAD_CREDENTIALS: {
    code: Code.Unauthenticated,
    message: 'the credentials are wrong, expired or revoked',
  },
  CODE_REFUSED: {
    code: Code.InvalidArgument,
    reason: 'BAD_CREDENTIALS',
    message: ({ name, provider_error }) =>
      `${name} refuses the code${provider_error === undefined ? '' : `: ${provider_error}`}`,
  },
  FIRST_ACCOUNT_REFUSED: {
    code: Code.PermissionDenied,
    message:
      'the first account administers the instance and is made on its machine: ' +
      'node dist/main.js user create --data DIR --username NAME --role admin --password-stdin',
  },
  IDENTITY_ALREADY_LINKED: {
    code: Code.AlreadyExists,
    message: ({ name }) => `another identity is linked: ${name}`,
  },
  IDENTITY_PROVIDER_ID_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ id }) => `the id "${id}" is taken`,
    field: 'identity_provider_id',
  },
  IDENTITY_PROVIDER_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ name }) => `${name} does not exist`,
  },
  IDENTITY_PROVIDER_UNAVAILABLE: {
    code: Code.Unavailable,
    message: ({ name }) => `${name} cannot be reached, or its answer makes no sense`,
  },
  IDENTITY_REFUSED: {
    code: Code.PermissionDenied,
    message: ({ name }) => `${name} does not admit this identity here`,
  },
  IDENTITY_TAKEN: {
    code: Code.AlreadyExists,
    message: 'this identity is linked to another account',
  },
  INVALID_EXPIRY: {
    code: Code.InvalidArgument,
    message: ({ max_days }) => `a token expires after 1 to ${max_days} days, or never with 0`,
    field: 'expires_in_days',
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
  INVALID_RESET_TOKEN: {
    code: Code.InvalidArgument,
    message: 'the reset token is unknown, expired or used',
    field: 'token',
  },
  INVALID_SCOPE: {
    code: Code.InvalidArgument,
    message: ({ scope }) =>
      scope === ''
        ? 'access token must have a scope'
        : `invalid access token scope provided: ${scope}`,
    restStatus: 400,
    field: 'scopes',
  },
  LAST_IDENTITY_PROVIDER: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `people could not sign in without ${name}`,
  },
  LAST_SIGN_IN_METHOD: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} is the only way to sign in to this account`,
  },
  LINKED_IDENTITY_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ name }) => `${name} does not exist`,
  },
  MAIL_NOT_CONFIGURED: {
    code: Code.FailedPrecondition,
    message: 'this instance sends no mail; ask an administrator for a reset token',
  },
  PASSWORD_REQUIRED: {
    code: Code.Unauthenticated,
    message: 'auth required',
    header: ['www-authenticate', 'Basic realm="branchline"'],
  },
  PASSWORD_SIGN_IN_CLOSED: {
    code: Code.PermissionDenied,
    message: 'only administrators use passwords here',
  },
  PERMISSION_DENIED: { code: Code.PermissionDenied, message: 'this account may not do that' },
  PUBLIC_ONLY_TOKEN: {
    code: Code.PermissionDenied,
    message: 'this token is restricted to public data',
  },
  SCOPE_MISSING: {
    code: Code.PermissionDenied,
    message: ({ scope }) => `this token lacks the scope ${scope}`,
  },
  SCOPE_NOT_HELD: {
    code: Code.PermissionDenied,
    message: ({ scope }) => `this token cannot hand on the scope ${scope}, which it does not hold`,
  },
  SESSION_REQUIRED: {
    code: Code.PermissionDenied,
    message: 'a personal access token may not do that; sign in',
  },
  SUDO_DENIED: {
    reason: 'PERMISSION_DENIED',
    code: Code.PermissionDenied,
    message: 'Only administrators allowed to sudo.',
  },
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
  TWO_FACTOR_ALREADY_ENABLED: {
    code: Code.FailedPrecondition,
    message: 'this account uses a second factor already',
  },
  TWO_FACTOR_INVALID: {
    code: Code.Unauthenticated,
    message: 'the passcode or recovery code is wrong or was used before',
  },
  TWO_FACTOR_NOT_ENABLED: {
    code: Code.FailedPrecondition,
    message: 'this account uses no second factor',
  },
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
} satisfies Refusals
