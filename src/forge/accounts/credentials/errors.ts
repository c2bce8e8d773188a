import { Code } from '@connectrpc/connect'
import type { Refusals } from '../../core/refusal.ts'

/** Header that tells clients without support for reasons to send a one-time passcode. */
export const PASSCODE_CHALLENGE = ['x-service-otp', 'required'] as const

/** Errors of credentials and authentication. */
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
      `${name} rejected the code${provider_error === undefined ? '' : `: ${provider_error}`}`,
  },
  CONFIRMATION_REQUIRED: {
    code: Code.PermissionDenied,
    message: 'this change needs the present password or a second factor; confirm the session first',
  },
  FIRST_ACCOUNT_REFUSED: {
    code: Code.PermissionDenied,
    message:
      'the first account is the administrator and must be created on the server: ' +
      'node dist/main.js user create --data DIR --username NAME --role admin --password-stdin',
  },
  IDENTITY_ALREADY_LINKED: {
    code: Code.AlreadyExists,
    message: ({ name }) => `the account has another linked identity: ${name}`,
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
    message: ({ name }) => `${name} cannot be reached or sent an invalid response`,
  },
  IDENTITY_REFUSED: {
    code: Code.PermissionDenied,
    message: ({ name }) => `this identity of ${name} is not allowed on this instance`,
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
    message: 'the filter must be a regular expression in RE2 syntax and must not be too long',
    field: 'identity_provider.identifier_filter',
  },
  INVALID_IDENTITY_PROVIDER_ID: {
    code: Code.InvalidArgument,
    message:
      'an id must have at most 36 letters, digits and hyphens, and must not start or end with a hyphen',
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
    message: ({ name }) => `users could not sign in without ${name}`,
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
    message: 'this instance does not send mail; ask an administrator for a reset token',
  },
  PASSWORD_REQUIRED: {
    code: Code.Unauthenticated,
    message: 'auth required',
    header: ['www-authenticate', 'Basic realm="branchline"'],
  },
  PASSWORD_SIGN_IN_CLOSED: {
    code: Code.PermissionDenied,
    message: 'only administrators may sign in with a password on this instance',
  },
  PERMISSION_DENIED: {
    code: Code.PermissionDenied,
    message: 'this account does not have permission to do this',
  },
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
    message: ({ scope }) => `this token cannot grant the scope ${scope}, which it does not have`,
  },
  SESSION_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  SESSION_REQUIRED: {
    code: Code.PermissionDenied,
    message: 'a personal access token cannot be used for this; sign in',
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
  OAUTH2_APPLICATION_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ id }) => `the OAuth 2.0 application ${id} does not exist`,
  },
  OAUTH2_GRANT_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ id }) => `the OAuth 2.0 grant ${id} does not exist`,
  },
  TOO_MANY_OAUTH2_APPLICATIONS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `the limit of ${limit} OAuth 2.0 applications has been reached`,
    restStatus: 422,
  },
  INVALID_REDIRECT_URI: {
    code: Code.InvalidArgument,
    message: ({ max_count }) =>
      `an application has 1 to ${max_count} redirect URIs, each absolute, without user information and ` +
      'fragment, of http, https or the scheme of an app such as com.example.app',
    restStatus: 422,
    field: 'redirect_uris',
  },
  TOKEN_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  TWO_FACTOR_ALREADY_ENABLED: {
    code: Code.FailedPrecondition,
    message: 'two-factor authentication is already enabled for this account',
  },
  TWO_FACTOR_INVALID: {
    code: Code.Unauthenticated,
    message: 'the passcode or recovery code is wrong or was used before',
  },
  TWO_FACTOR_NOT_ENABLED: {
    code: Code.FailedPrecondition,
    message: 'two-factor authentication is not enabled for this account',
  },
  TWO_FACTOR_NOT_PENDING: {
    code: Code.FailedPrecondition,
    message: 'no enrollment is pending; enroll first',
  },
  TWO_FACTOR_REQUIRED: {
    code: Code.Unauthenticated,
    message: 'this account also requires a passcode or a recovery code',
    header: PASSCODE_CHALLENGE,
  },
  UNAUTHENTICATED: { code: Code.Unauthenticated, message: 'sign in first' },
} satisfies Refusals
