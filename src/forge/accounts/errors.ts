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
