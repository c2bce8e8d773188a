import { Code } from '@connectrpc/connect'
import type { Refusals } from '../../core/refusal.ts'

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
  TOO_MANY_KEYS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `the limit of ${limit} keys has been reached`,
    restStatus: 422,
  },
} satisfies Refusals
