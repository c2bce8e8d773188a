import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { HttpStatusSchema } from '#gen/branchline/rest/v1/rest_pb.ts'
import type { ErrorReason } from '#gen/branchline/v1/error_reason_pb.ts'
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { DomainError, type Reason } from '../domain/errors.ts'
import { codeToHttpStatus } from './rest/connect-internals.ts'

/** `domain` of every ErrorInfo. */
export const ERROR_DOMAIN = 'branchline'

/** On the answer to every call, and on its log line. */
export const REQUEST_ID_HEADER = 'x-request-id'

type Metadata = Readonly<Record<string, string>>

/** What a reason looks like from outside. */
interface Refusal {
  readonly code: Code
  /** For people. Programs read the reason. */
  readonly message: string | ((metadata: Metadata) => string)
  /** HTTP status over REST, where it is not the one that stands for the code. */
  readonly restStatus?: number
  /** Path of the request field at fault, where it is always the same one. */
  readonly field?: string
  /** Path to go to instead, over REST. */
  readonly location?: (metadata: Metadata) => string
  /** Name and value of a header of the answer, metadata over gRPC. */
  readonly header?: readonly [string, string]
}

/** Tells clients that read no reasons to ask for a one-time passcode and to send it in this header. */
export const PASSCODE_CHALLENGE = ['x-service-otp', 'required'] as const

/** What the client sent cannot be read, or leads nowhere; found by the transports, not by the rules. */
export type TransportReason = 'MALFORMED_REQUEST' | 'METHOD_NOT_ALLOWED' | 'REQUEST_TOO_LARGE' | 'UNKNOWN_PATH'

/** A value of the proto enum. */
type PublicReason = keyof typeof ErrorReason

/** A situation that shares its public reason with another one, of another status. */
interface SharedRefusal extends Refusal {
  readonly reason: PublicReason
}

/**
 * The one table from reasons to codes and texts. A key is a value of the proto enum ErrorReason, where its meaning and
 * its metadata are documented, or its row names one: for any other reason this does not compile.
 */
const REFUSALS: Readonly<
  Record<(Reason | TransportReason) & PublicReason, Refusal> & Record<Exclude<Reason, PublicReason>, SharedRefusal>
> = {
  ACCOUNT_ARCHIVED: { code: Code.PermissionDenied, message: 'this account is archived' },
  AVATAR_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  BAD_CREDENTIALS: { code: Code.Unauthenticated, message: 'the credentials are wrong, expired or revoked' },
  BLOCKED_ADDRESS: {
    code: Code.InvalidArgument,
    message: ({ host }) => `${host} has a private or reserved address`,
    field: 'webhook.url',
  },
  CODE_REFUSED: {
    code: Code.InvalidArgument,
    reason: 'BAD_CREDENTIALS',
    message: ({ name, provider_error }) =>
      `${name} refuses the code${provider_error === undefined ? '' : `: ${provider_error}`}`,
  },
  CROSS_SITE_REQUEST: {
    code: Code.PermissionDenied,
    message: 'this request comes from another site and has no credentials of its own',
  },
  CURSOR_EXPIRED: {
    code: Code.OutOfRange,
    message: 'events behind the cursor have been forgotten; read the lists and start anew',
    field: 'cursor',
  },
  DISPLAY_NAME_CHANGE_CLOSED: { code: Code.PermissionDenied, message: 'only administrators change display names here' },
  EMAIL_TAKEN: { code: Code.AlreadyExists, message: 'this e-mail address belongs to another account' },
  EMPTY_MASK: { code: Code.InvalidArgument, message: 'the update names no field to change', field: 'update_mask' },
  FIRST_ACCOUNT_REFUSED: {
    code: Code.PermissionDenied,
    message:
      'the first account administers the instance and is made on its machine: ' +
      'node dist/main.js user create --data DIR --username NAME --role admin --password-stdin',
  },
  HAS_ASSOCIATED_DATA: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} owns content; delete with force`,
  },
  IDENTITY_ALREADY_LINKED: { code: Code.AlreadyExists, message: ({ name }) => `another identity is linked: ${name}` },
  IDENTITY_PROVIDER_ID_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ id }) => `the id "${id}" is taken`,
    field: 'identity_provider_id',
  },
  IDENTITY_PROVIDER_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  IDENTITY_PROVIDER_UNAVAILABLE: {
    code: Code.Unavailable,
    message: ({ name }) => `${name} cannot be reached, or its answer makes no sense`,
  },
  IDENTITY_REFUSED: { code: Code.PermissionDenied, message: ({ name }) => `${name} does not admit this identity here` },
  IDENTITY_TAKEN: { code: Code.AlreadyExists, message: 'this identity is linked to another account' },
  INVALID_AVATAR: {
    code: Code.InvalidArgument,
    message: 'an avatar is an https URL, or a data URI of a PNG, JPEG, GIF or WebP image of at most 1 MiB',
    field: 'user.avatar_url',
  },
  INVALID_CURSOR: { code: Code.InvalidArgument, message: 'the cursor does not belong to this stream', field: 'cursor' },
  INVALID_DEFAULT_BRANCH: {
    code: Code.InvalidArgument,
    message: ({ branch }) => `"${branch}" cannot be the default branch`,
    restStatus: 422,
    field: 'default_branch',
  },
  INVALID_EMAIL: { code: Code.InvalidArgument, message: 'this is not an e-mail address', field: 'user.email' },
  INVALID_EXPIRY: {
    code: Code.InvalidArgument,
    message: ({ max_days }) => `a token expires after 1 to ${max_days} days, or never with 0`,
    field: 'expires_in_days',
  },
  INVALID_FIELD: {
    code: Code.InvalidArgument,
    message: ({ field, max_length, max_bytes }) => {
      if (max_length !== undefined) return `${field} is longer than ${max_length} characters`
      if (max_bytes !== undefined) return `${field} is longer than ${max_bytes} bytes`
      return `${field} is missing or not allowed`
    },
  },
  INVALID_FILTER: {
    code: Code.InvalidArgument,
    message: 'the filter cannot be read, or says something that this list does not support',
    field: 'filter',
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
  INVALID_MEMO_ID: {
    code: Code.InvalidArgument,
    message: 'an id has up to 36 letters, digits and hyphens, and starts and ends with no hyphen',
    field: 'memo_id',
  },
  INVALID_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `"${name}" is not a resource name of this method`,
  },
  INVALID_ORDER: { code: Code.InvalidArgument, message: 'the list cannot be ordered like this', field: 'order_by' },
  INVALID_PAGE_SIZE: { code: Code.InvalidArgument, message: 'a page size is not negative', field: 'page_size' },
  INVALID_PAGE_TOKEN: {
    code: Code.InvalidArgument,
    message: 'the page token does not belong to this list',
    field: 'page_token',
  },
  INVALID_REPOSITORY_NAME: {
    code: Code.InvalidArgument,
    message: ({ name }) => `a repository cannot be called "${name}"`,
    restStatus: 422,
    field: 'name',
  },
  INVALID_REQUEST_ID: {
    code: Code.InvalidArgument,
    message: 'a request id has up to 64 printable ASCII characters',
    field: 'request_id',
  },
  INVALID_RESET_TOKEN: {
    code: Code.InvalidArgument,
    message: 'the reset token is unknown, expired or used',
    field: 'token',
  },
  INVALID_SCOPE: { code: Code.InvalidArgument, message: ({ scope }) => `"${scope}" is no scope`, field: 'scopes' },
  INVALID_SIGNING_SECRET: {
    code: Code.InvalidArgument,
    message: 'a signing secret is printable ASCII; after whsec_ comes the base64 form of 24 to 64 bytes',
    field: 'webhook.signing_secret',
  },
  INVALID_USERNAME: {
    code: Code.InvalidArgument,
    message: 'a username has up to 36 letters, digits and hyphens, starts and ends with no hyphen, and is not reserved',
    field: 'user.username',
  },
  INVALID_USER_ID: {
    code: Code.InvalidArgument,
    message: 'an id has up to 36 lower-case letters, digits and hyphens, and is not reserved',
    field: 'user_id',
  },
  INVALID_WEBHOOK_URL: {
    code: Code.InvalidArgument,
    message: 'a target is an http or https URL without user information and fragment, whose host can be resolved',
    field: 'webhook.url',
  },
  LAST_ADMIN: { code: Code.FailedPrecondition, message: ({ name }) => `${name} is the last active administrator` },
  LAST_IDENTITY_PROVIDER: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `people could not sign in without ${name}`,
  },
  LAST_SIGN_IN_METHOD: {
    code: Code.FailedPrecondition,
    message: ({ name }) => `${name} is the only way to sign in to this account`,
  },
  LINKED_IDENTITY_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  MAIL_NOT_CONFIGURED: {
    code: Code.FailedPrecondition,
    message: 'this instance sends no mail; ask an administrator for a reset token',
  },
  MALFORMED_REQUEST: { code: Code.InvalidArgument, message: 'the request cannot be read' },
  MEMO_ARCHIVED: { code: Code.FailedPrecondition, message: ({ name }) => `${name} is archived` },
  MEMO_ID_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ memo_id }) => `the id "${memo_id}" is taken`,
    field: 'memo_id',
  },
  MEMO_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  METHOD_NOT_ALLOWED: { code: Code.Unimplemented, message: 'this path is served for other methods', restStatus: 405 },
  NOTIFICATION_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  PASSWORD_SIGN_IN_CLOSED: { code: Code.PermissionDenied, message: 'only administrators use passwords here' },
  PERMISSION_DENIED: { code: Code.PermissionDenied, message: 'this account may not do that' },
  PUBLIC_ONLY_TOKEN: { code: Code.PermissionDenied, message: 'this token is restricted to public data' },
  RATE_LIMITED: {
    code: Code.ResourceExhausted,
    message: ({ retry_after_seconds }) => `too many attempts; try again in ${retry_after_seconds} s`,
  },
  REGISTRATION_CLOSED: { code: Code.PermissionDenied, message: 'this instance is not open for registration' },
  REPOSITORY_ACCESS_DENIED: {
    code: Code.PermissionDenied,
    message: ({ needed }) =>
      `this takes the right to ${needed === 'write' ? 'write to' : `act as ${needed} of`} the repository`,
  },
  REPOSITORY_ARCHIVED: { code: Code.FailedPrecondition, message: 'the repository is archived', restStatus: 423 },
  REPOSITORY_EXISTS: { code: Code.AlreadyExists, message: 'The repository with the same name already exists.' },
  REPOSITORY_MOVED: {
    code: Code.NotFound,
    message: ({ owner, name }) => `the repository is ${owner}/${name} now`,
    restStatus: 301,
    location: ({ owner, name }) => `/api/v1/repos/${owner}/${name}`,
  },
  REPOSITORY_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  REQUEST_ID_REUSED: {
    code: Code.InvalidArgument,
    message: 'this request id was used for a different request',
    field: 'request_id',
  },
  REQUEST_TOO_LARGE: { code: Code.ResourceExhausted, message: 'the request is too large', restStatus: 413 },
  SCOPE_MISSING: { code: Code.PermissionDenied, message: ({ scope }) => `this token lacks the scope ${scope}` },
  SCOPE_NOT_HELD: {
    code: Code.PermissionDenied,
    message: ({ scope }) => `this token cannot hand on the scope ${scope}, which it does not hold`,
  },
  SESSION_REQUIRED: { code: Code.PermissionDenied, message: 'a personal access token may not do that; sign in' },
  SETTING_NOT_UPDATABLE: {
    code: Code.InvalidArgument,
    message: ({ name }) => `${name} is changed through methods of its own`,
  },
  TOKEN_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  TOO_MANY_NAMES: { code: Code.InvalidArgument, message: ({ limit }) => `a batch has at most ${limit} names` },
  TOO_MANY_STREAMS: {
    code: Code.ResourceExhausted,
    message: ({ limit }) => `an account has at most ${limit} streams open`,
  },
  TOO_MANY_WEBHOOKS: { code: Code.InvalidArgument, message: ({ limit }) => `an account has at most ${limit} webhooks` },
  TWO_FACTOR_ALREADY_ENABLED: { code: Code.FailedPrecondition, message: 'this account uses a second factor already' },
  TWO_FACTOR_INVALID: {
    code: Code.Unauthenticated,
    message: 'the passcode or recovery code is wrong or was used before',
  },
  TWO_FACTOR_NOT_ENABLED: { code: Code.FailedPrecondition, message: 'this account uses no second factor' },
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
  UNKNOWN_MASK_PATH: {
    code: Code.InvalidArgument,
    message: ({ path }) => `"${path}" is no field that this mask may name`,
  },
  UNKNOWN_PATH: { code: Code.NotFound, message: 'nothing is served at this path' },
  USERNAME_CHANGE_CLOSED: { code: Code.PermissionDenied, message: 'only administrators change usernames here' },
  USERNAME_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ username }) => `the username "${username}" is taken`,
    field: 'user.username',
  },
  USER_ID_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ user_id }) => `the id "${user_id}" is taken`,
    field: 'user_id',
  },
  USER_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  WEAK_PASSWORD: {
    code: Code.InvalidArgument,
    message: ({ min_length, max_bytes }) =>
      `a password has at least ${min_length} characters and at most ${max_bytes} bytes, and is not the username`,
    field: 'user.password',
  },
  WEBHOOK_DELIVERY_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
  WEBHOOK_DISABLED: { code: Code.FailedPrecondition, message: ({ name }) => `${name} was switched off by its target` },
  WEBHOOK_NOT_FOUND: { code: Code.NotFound, message: ({ name }) => `${name} does not exist` },
}

/** Credentials of a kind that would be accepted; RFC 9110 section 11.6.1 wants the header on every 401. */
export const CHALLENGE = 'Bearer realm="branchline"'

/**
 * The RPC error for a refusal, the same on every protocol: code, text, ErrorInfo with the reason, and what else the
 * client's library may act on (BadRequest, RetryInfo).
 */
export function refusal(reason: Reason | TransportReason, metadata: Metadata = {}): ConnectError {
  const row: Refusal & Partial<SharedRefusal> = REFUSALS[reason]
  const { code, message, field, restStatus, location, header, reason: publicReason = reason } = row
  const text = typeof message === 'string' ? message : message(metadata)
  const error = new ConnectError(text, code)
  error.details.push({
    desc: ErrorInfoSchema,
    value: { reason: publicReason, domain: ERROR_DOMAIN, metadata: { ...metadata } },
  })
  const path = field ?? metadata.field
  if (code === Code.InvalidArgument && path !== undefined) {
    error.details.push({
      desc: BadRequestSchema,
      value: { fieldViolations: [{ field: path, description: text, reason: publicReason }] },
    })
  }
  if (metadata.retry_after_seconds !== undefined) {
    const seconds = BigInt(metadata.retry_after_seconds)
    error.details.push({ desc: RetryInfoSchema, value: { retryDelay: { seconds } } })
    error.metadata.set('retry-after', metadata.retry_after_seconds)
  }
  if (restStatus !== undefined) {
    const headers: Record<string, string> = location ? { Location: location(metadata) } : {}
    error.details.push({ desc: HttpStatusSchema, value: create(HttpStatusSchema, { status: restStatus, headers }) })
  }
  if (code === Code.Unauthenticated) error.metadata.set('www-authenticate', CHALLENGE)
  if (header) error.metadata.set(...header)
  return error
}

const REFUSALS_BY_NAME: ReadonlyMap<string, Refusal> = new Map(Object.entries(REFUSALS))

/** The HTTP status of a reason over REST; undefined for names of reasons that this server never answers. */
export function restStatusOf(reason: string): number | undefined {
  const refused = REFUSALS_BY_NAME.get(reason)
  return refused && (refused.restStatus ?? codeToHttpStatus(refused.code))
}

/**
 * The error that a client gets for whatever was thrown: refusals by the table, RPC errors as they are, and everything
 * else as INTERNAL without a word about the cause, which belongs in the log.
 */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error
  if (error instanceof DomainError) {
    return refusal(error.reason, error.metadata)
  }
  return new ConnectError('internal error', Code.Internal, undefined, undefined, error)
}
