import { Code } from '@connectrpc/connect'
import type { Refusals } from './refusal.ts'

/** Returns the name of a field as in validation messages of compatible systems. */
function pascalCase(field = ''): string {
  return field
    .replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
    .replace(/Id$/, 'ID')
}

/** Errors of requests in general. */
export const REQUESTS = {
  CROSS_SITE_REQUEST: {
    code: Code.PermissionDenied,
    message: 'a request from another site needs an Authorization header',
  },
  CURSOR_EXPIRED: {
    code: Code.OutOfRange,
    message: 'events after the cursor are no longer available; read the lists and start again',
    field: 'cursor',
  },
  DEADLINE_EXCEEDED: {
    code: Code.DeadlineExceeded,
    message: ({ committed }) =>
      committed
        ? 'the change was made after the deadline of the call'
        : 'the deadline of the call has passed',
  },
  DELETED_MEANWHILE: { code: Code.NotFound, message: 'not found' },
  EMPTY_MASK: {
    code: Code.InvalidArgument,
    message: 'the update names no field to change',
    field: 'update_mask',
  },
  INVALID_CURSOR: {
    code: Code.InvalidArgument,
    message: 'the cursor does not belong to this stream',
    field: 'cursor',
  },
  INVALID_FIELD: {
    code: Code.InvalidArgument,
    message: ({ field, max_length, max_bytes, rule }) => {
      if (rule !== undefined) return `[${pascalCase(field)}]: ${rule}`
      if (max_length !== undefined) return `${field} is longer than ${max_length} characters`
      if (max_bytes !== undefined) return `${field} is longer than ${max_bytes} bytes`
      return `${field} is missing or not allowed`
    },
  },
  INVALID_FILTER: {
    code: Code.InvalidArgument,
    message: 'the filter is malformed or has a condition that this list does not support',
    field: 'filter',
  },
  INVALID_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `"${name}" is not a resource name of this method`,
  },
  INVALID_ORDER: {
    code: Code.InvalidArgument,
    message: 'the list does not support this order',
    field: 'order_by',
  },
  INVALID_PAGE_SIZE: {
    code: Code.InvalidArgument,
    message: 'a page size must not be negative',
    field: 'page_size',
  },
  INVALID_PAGE_TOKEN: {
    code: Code.InvalidArgument,
    message: 'the page token does not belong to this list',
    field: 'page_token',
  },
  INVALID_REQUEST_ID: {
    code: Code.InvalidArgument,
    message: 'a request id must have at most 64 printable ASCII characters',
    field: 'request_id',
  },
  MALFORMED_REQUEST: { code: Code.InvalidArgument, message: 'the request cannot be read' },
  METHOD_NOT_ALLOWED: {
    code: Code.Unimplemented,
    message: 'this path does not support the method of the request',
    restStatus: 405,
  },
  RANGE_NOT_SATISFIABLE: {
    code: Code.OutOfRange,
    message: ({ bytes }) => `the file has ${bytes} bytes`,
    restStatus: 416,
    header: ({ bytes }) => ['content-range', `bytes */${bytes}`],
  },
  RATE_LIMITED: {
    code: Code.ResourceExhausted,
    message: ({ retry_after_seconds }) =>
      `too many attempts; try again in ${retry_after_seconds} s`,
  },
  REQUEST_ID_REUSED: {
    code: Code.InvalidArgument,
    message: 'this request id was used for a different request',
    field: 'request_id',
  },
  REQUEST_TOO_LARGE: {
    code: Code.ResourceExhausted,
    message: 'the request is too large',
    restStatus: 413,
  },
  DISK_FULL: {
    code: Code.ResourceExhausted,
    message: 'the disk of the server is full; only reads and deletions go on',
    restStatus: 507,
  },
  STORAGE_UNAVAILABLE: {
    code: Code.Unavailable,
    message: 'the storage of files does not answer; try again soon',
  },
  SERVER_BUSY: {
    code: Code.Unavailable,
    message: 'the server is busy; try again soon',
  },
  TOO_MANY_NAMES: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a batch can have at most ${limit} names`,
  },
  TOO_MANY_STREAMS: {
    code: Code.ResourceExhausted,
    message: ({ limit, scope }) => `at most ${limit} streams may be open (${scope})`,
  },
  TOO_MUCH_UNREAD: {
    code: Code.ResourceExhausted,
    message: ({ limit, scope }) =>
      `at most ${limit} bytes of responses may wait to be read (${scope}); read earlier responses first`,
  },
  UNKNOWN_MASK_PATH: {
    code: Code.InvalidArgument,
    message: ({ path }) => `"${path}" is not a field that this mask can contain`,
  },
  UNKNOWN_PATH: { code: Code.NotFound, message: 'nothing is served at this path' },
} satisfies Refusals
