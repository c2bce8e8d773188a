import { Code } from '@connectrpc/connect'
import type { Refusals } from '../core/refusal.ts'

/** Errors of memos, notifications and webhooks. */
export const MEMOS = {
  BLOCKED_ADDRESS: {
    code: Code.InvalidArgument,
    message: ({ host }) => `${host} has a private or reserved address`,
    field: 'webhook.url',
  },
  INVALID_MEMO_ID: {
    code: Code.InvalidArgument,
    message:
      'an id must have at most 36 letters, digits and hyphens, and must not start or end with a hyphen',
    field: 'memo_id',
  },
  INVALID_SIGNING_SECRET: {
    code: Code.InvalidArgument,
    message:
      'a signing secret must be printable ASCII; the part after whsec_ must be 24 to 64 bytes in base64',
    field: 'webhook.signing_secret',
  },
  INVALID_WEBHOOK_URL: {
    code: Code.InvalidArgument,
    message:
      'a target must be an http or https URL without user information or fragment, and its host must be resolvable',
    field: 'webhook.url',
  },
  MEMO_ARCHIVED: { code: Code.FailedPrecondition, message: ({ name }) => `${name} is archived` },
  MEMO_ID_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ memo_id }) => `the id "${memo_id}" is taken`,
    field: 'memo_id',
  },
  MEMO_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  NOTIFICATION_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  TOO_MANY_WEBHOOKS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `the limit of ${limit} webhooks has been reached`,
  },
  WEBHOOK_DELIVERY_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ name }) => `${name} does not exist`,
  },
  WEBHOOK_DISABLED: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} is disabled`,
  },
  WEBHOOK_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
} satisfies Refusals
