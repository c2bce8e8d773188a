import { Code } from '@connectrpc/connect'
import type { Refusals } from './refusal.ts'

/** Refusals about memos, notifications and webhooks. */
export const MEMOS = {
  BLOCKED_ADDRESS: {
    code: Code.InvalidArgument,
    message: ({ host }) => `${host} has a private or reserved address`,
    field: 'webhook.url',
  },
  INVALID_MEMO_ID: {
    code: Code.InvalidArgument,
    message: 'an id has up to 36 letters, digits and hyphens, and starts and ends with no hyphen',
    field: 'memo_id',
  },
  INVALID_SIGNING_SECRET: {
    code: Code.InvalidArgument,
    message:
      'a signing secret is printable ASCII; after whsec_ comes the base64 form of 24 to 64 bytes',
    field: 'webhook.signing_secret',
  },
  INVALID_WEBHOOK_URL: {
    code: Code.InvalidArgument,
    message:
      'a target is an http or https URL without user information and fragment, whose host can be resolved',
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
    message: ({ limit }) => `an account has at most ${limit} webhooks`,
  },
  WEBHOOK_DELIVERY_NOT_FOUND: {
    code: Code.NotFound,
    message: ({ name }) => `${name} does not exist`,
  },
  WEBHOOK_DISABLED: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} was switched off by its target`,
  },
  WEBHOOK_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
} satisfies Refusals
