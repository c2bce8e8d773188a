import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '#gen/google/rpc/error_details_pb.ts'
import { HttpStatusSchema } from '#gen/rest/v1/rest_pb.ts'
import { ACCOUNTS, CREDENTIALS, KEYS } from '../forge/accounts/errors.ts'
import { CONVERSATIONS } from '../forge/conversations/errors.ts'
import { DomainError, outsideError, type Reason } from '../forge/core/errors.ts'
import type {
  AllRefusals,
  Metadata,
  Refusal,
  SharedRefusal,
  TransportReason,
} from '../forge/core/refusal.ts'
import { REQUESTS } from '../forge/core/requests.errors.ts'
import { IMPORTS } from '../forge/imports/errors.ts'
import { ISSUES } from '../forge/issues/errors.ts'
import { MEMOS } from '../forge/memos/errors.ts'
import { ORGANIZATIONS } from '../forge/organizations/errors.ts'
import { PULLS } from '../forge/pulls/errors.ts'
import {
  BRANCHES,
  CONTENTS,
  GIT_HOOKS,
  RELEASES,
  REPOSITORIES,
} from '../forge/repositories/errors.ts'
import { codeToHttpStatus } from '../platform/rpc/exchange/connect-internals.ts'
import { UNEXPECTED_COMPRESSION } from '../platform/rpc/index.ts'

/** `domain` of every ErrorInfo. */
const ERROR_DOMAIN = 'branchline'

/** Header with the request id in the response to every call. The log has the same id. */
export const REQUEST_ID_HEADER = 'x-request-id'

/**
 * The table from reasons to codes and messages. A key is a value of the proto enum ErrorReason,
 * which documents its meaning and metadata, or its row names such a value.
 */
const REFUSALS: AllRefusals = {
  ...ACCOUNTS,
  ...BRANCHES,
  ...CONTENTS,
  ...CREDENTIALS,
  ...GIT_HOOKS,
  ...KEYS,
  ...MEMOS,
  ...ORGANIZATIONS,
  ...CONVERSATIONS,
  ...IMPORTS,
  ...ISSUES,
  ...PULLS,
  ...RELEASES,
  ...REPOSITORIES,
  ...REQUESTS,
}

/** The challenge that every 401 response must have (RFC 9110 11.6.1). */
export const CHALLENGE = 'Bearer realm="branchline"'

/**
 * Returns the RPC error for a reason, which is the same on every protocol: code, message, an
 * ErrorInfo with the reason, and a BadRequest or RetryInfo where they apply.
 *
 * @param requestUrl URL of the call. Without it, a redirect is only in the metadata.
 */
export function refusal(
  reason: Reason | TransportReason,
  metadata: Metadata = {},
  requestUrl?: string,
): ConnectError {
  const row: Refusal & Partial<SharedRefusal> = REFUSALS[reason]
  const {
    code,
    message,
    field,
    restStatus,
    location,
    body,
    isBodiless,
    header,
    reason: publicReason = reason,
  } = row
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
    const target = requestUrl === undefined ? undefined : location?.(metadata, requestUrl)
    const headers: Record<string, string> = target === undefined ? {} : { Location: target }
    const content = isBodiless ? { noContent: true } : body && { body: body(metadata, text) }
    const value = { status: restStatus, headers, ...content }
    error.details.push({ desc: HttpStatusSchema, value: create(HttpStatusSchema, value) })
  }
  if (code === Code.Unauthenticated) error.metadata.set('www-authenticate', CHALLENGE)
  if (header) error.metadata.set(...(typeof header === 'function' ? header(metadata) : header))
  return error
}

const REFUSALS_BY_NAME: ReadonlyMap<string, Refusal> = new Map(Object.entries(REFUSALS))

/** Returns the HTTP status of a reason over REST; undefined for a reason without a row. */
export function restStatusOf(reason: string): number | undefined {
  const refused = REFUSALS_BY_NAME.get(reason)
  return refused && (refused.restStatus ?? codeToHttpStatus(refused.code))
}

/**
 * Returns the error that a client receives for a thrown value. A domain error becomes the error of
 * its reason, and an RPC error stays as it is. An error caused by a concurrent deletion becomes the
 * error of a call after the deletion. A database that is unavailable is SERVER_BUSY. Any other value becomes INTERNAL; the cause is only logged.
 *
 * @param requestUrl URL of the call.
 */
export function toConnectError(error: unknown, requestUrl?: string): ConnectError {
  if (error instanceof ConnectError) return error
  const refused = error instanceof DomainError ? error : outsideError(error)
  if (refused) return refusal(refused.reason, refused.metadata, requestUrl)
  return new ConnectError('internal error', Code.Internal, undefined, undefined, error)
}

/** Reasons of the codes with which every protocol refuses a request that does not reach a method. */
const REASONS: ReadonlyMap<Code, TransportReason> = new Map([
  [Code.DeadlineExceeded, 'DEADLINE_EXCEEDED'],
  [Code.InvalidArgument, 'MALFORMED_REQUEST'],
  [Code.ResourceExhausted, 'REQUEST_TOO_LARGE'],
])

/** The same for REST, where a path may belong to no method. */
const REST_REASONS: ReadonlyMap<Code, TransportReason> = new Map([
  ...REASONS,
  [Code.NotFound, 'UNKNOWN_PATH'],
  [Code.Unimplemented, 'METHOD_NOT_ALLOWED'],
])

/**
 * Header of REST errors, since the error bodies of compatible systems have no field for a reason.
 */
const REASON_HEADER = 'x-error-reason'

const LIMIT = /^(the request (?:content|message) is larger than )(\d+) bytes$/

/**
 * Adds a reason to the errors that the protocols themselves raise. Over REST, adds the header with
 * the reason to all errors.
 */
export function explainError(error: ConnectError, protocolName: string): void {
  const explained = reasonOf(error)
  const reason = explained ?? reasonOfCode(error, protocolName)
  if (reason === undefined) return
  if (explained === undefined) {
    const info = create(ErrorInfoSchema, { reason, domain: ERROR_DOMAIN })
    error.details.push({ desc: ErrorInfoSchema, value: info })
  }
  // The message names the setting of the operator.
  if (reason === 'REQUEST_TOO_LARGE') {
    const rawMessage = error.rawMessage.replace(LIMIT, '$1--max-message-bytes $2')
    Object.assign(error, { rawMessage })
  }
  if (protocolName === 'rest') error.metadata.set(REASON_HEADER, reason)
}

function reasonOfCode(
  { code, rawMessage }: ConnectError,
  protocolName: string,
): TransportReason | undefined {
  // gRPC specifies the code INTERNAL for this error of clients.
  if (rawMessage === UNEXPECTED_COMPRESSION) return 'MALFORMED_REQUEST'
  return (protocolName === 'rest' ? REST_REASONS : REASONS).get(code)
}

function reasonOf({ details }: ConnectError): string | undefined {
  for (const detail of details) {
    if ('desc' in detail && detail.desc === ErrorInfoSchema)
      return (detail.value as ErrorInfo).reason
  }
  return undefined
}
