import { Code } from '@connectrpc/connect'
import type { Refusals } from '../core/refusal.ts'

/** Errors of accounts. */
export const ACCOUNTS = {
  AVATAR_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  BLOCK_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  CANNOT_BLOCK: {
    code: Code.InvalidArgument,
    message: 'a user cannot block themselves, and an organization cannot block its members',
    restStatus: 400,
  },
  CANNOT_FOLLOW: {
    code: Code.InvalidArgument,
    message: 'users cannot follow themselves or an organization',
    restStatus: 400,
  },
  DISPLAY_NAME_CHANGE_CLOSED: {
    code: Code.PermissionDenied,
    message: 'only administrators may change display names on this instance',
  },
  EMAIL_ALREADY_ADDED: {
    code: Code.AlreadyExists,
    message: 'the account has this e-mail address already',
    restStatus: 422,
    field: 'emails',
  },
  EMAIL_NOT_FOUND: { code: Code.NotFound, message: 'the account has no such e-mail address' },
  EMAIL_NOT_VERIFIABLE: {
    reason: 'MAIL_NOT_CONFIGURED',
    code: Code.FailedPrecondition,
    message: 'this instance does not send mail, so that it cannot verify addresses',
  },
  EMAIL_TAKEN: {
    code: Code.AlreadyExists,
    message: 'this e-mail address belongs to another account',
  },
  ACCOUNT_NOT_PURGED: {
    reason: 'HAS_ASSOCIATED_DATA',
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} owns content; delete with purge`,
    restStatus: 422,
  },
  FOLLOW_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  HAS_ASSOCIATED_DATA: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} owns content; delete with force`,
  },
  INVALID_AVATAR: {
    code: Code.InvalidArgument,
    message:
      'an avatar must be an https URL, or a data URI of a PNG, JPEG, GIF or WebP image of at most 1 MiB',
    field: 'user.avatar_url',
  },
  INVALID_EMAIL: {
    code: Code.InvalidArgument,
    message: 'the e-mail address is invalid',
    field: 'user.email',
  },
  INVALID_EMAIL_TOKEN: {
    code: Code.InvalidArgument,
    message: 'the token is unknown, was used, or has expired',
    restStatus: 422,
    field: 'token',
  },
  INVALID_USERNAME: {
    code: Code.InvalidArgument,
    message:
      'a username must have at most 40 letters, digits, and hyphens, underscores and single dots between them, and must not be reserved',
    field: 'user.username',
  },
  INVALID_USER_ID: {
    code: Code.InvalidArgument,
    message:
      'an id must have at most 36 lower-case letters, digits and hyphens, and must not be reserved',
    field: 'user_id',
  },
  LAST_ADMIN: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} is the last active administrator`,
  },
  PRIMARY_EMAIL_KEPT: {
    code: Code.InvalidArgument,
    message: 'the primary e-mail address cannot be removed',
    restStatus: 422,
    field: 'emails',
  },
  REGISTRATION_CLOSED: {
    code: Code.PermissionDenied,
    message: 'this instance is not open for registration',
  },
  SETTING_NOT_UPDATABLE: {
    code: Code.InvalidArgument,
    message: ({ name }) => `${name} cannot be updated by this method`,
  },
  TOO_MANY_EMAILS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `an account may have ${limit} additional e-mail addresses`,
    restStatus: 422,
    field: 'emails',
  },
  UNKNOWN_USER: {
    code: Code.NotFound,
    message: ({ username }) => `there is no user ${username}`,
    restStatus: 422,
  },
  USERNAME_CHANGE_CLOSED: {
    code: Code.PermissionDenied,
    message: 'only administrators may change usernames on this instance',
  },
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
      `a password must have at least ${min_length} characters and at most ${max_bytes} bytes, and must not be the username`,
    restStatus: 400,
    field: 'user.password',
  },
} satisfies Refusals

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
    message: ({ method }) =>
      method === undefined
        ? 'this token is restricted to public data'
        : 'this endpoint is not available for public-only tokens',
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

/** Errors of keys. */
export const KEYS = {
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
  INVALID_GPG_KEY: {
    code: Code.InvalidArgument,
    message: ({ problem }) => `Invalid GPG key: ${problem}`,
    restStatus: 422,
    field: 'armored_public_key',
  },
  INVALID_SSH_KEY: {
    code: Code.InvalidArgument,
    message: ({ problem }) => `Invalid key content: ${problem}`,
    restStatus: 422,
    field: 'key',
  },
  KEY_ACCESS_DENIED: { code: Code.PermissionDenied, message: 'You do not have access to this key' },
  KEY_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  SSH_IS_OFF: { code: Code.NotFound, message: 'the server does not serve Git over SSH' },
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
  SSH_SESSION_NOT_FOUND: { code: Code.NotFound, message: 'no such session runs' },
  TOO_MANY_KEYS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `the limit of ${limit} keys has been reached`,
    restStatus: 422,
  },
} satisfies Refusals
