import { create } from '@bufbuild/protobuf'
import { Code, type ConnectError } from '@connectrpc/connect'
import { type ErrorInfo, ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import type { TransportReason } from '../../forge/core/refusal.ts'
import { UNEXPECTED_COMPRESSION } from '../../platform/rpc/index.ts'
import { ERROR_DOMAIN } from '../errors.ts'

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
