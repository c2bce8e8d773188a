import type { JsonObject } from '@bufbuild/protobuf'
import type { Code } from '@connectrpc/connect'
import type { ErrorReason } from '#gen/branchline/v1/error_reason_pb.ts'
import type { Reason } from './errors.ts'

/** The metadata of a reason. */
export type Metadata = Readonly<Record<string, string>>

/** The error that clients receive for a reason. */
export interface Refusal {
  readonly code: Code
  /** Message for people. Programs read the reason. */
  readonly message: string | ((metadata: Metadata) => string)
  /** HTTP status over REST. Default the status of the code. */
  readonly restStatus?: number
  /** Path of the invalid request field if it is always the same field. */
  readonly field?: string
  /**
   * Returns the path and query of a redirect over REST; undefined if the URL does not determine
   * them.
   */
  readonly location?: (metadata: Metadata, requestUrl: string) => string | undefined
  /** Returns the body over REST if compatible systems have a special one. */
  readonly body?: (metadata: Metadata, message: string) => JsonObject
  /**
   * Whether the response over REST has no body, as in compatible systems. Requires `restStatus`.
   */
  readonly isBodiless?: true
  /** Name and value of a response header, which is metadata over gRPC. */
  readonly header?: readonly [string, string] | ((metadata: Metadata) => readonly [string, string])
}

/** The reasons of errors that the transport finds before the domain sees a request. */
export type TransportReason =
  | 'DEADLINE_EXCEEDED'
  | 'MALFORMED_REQUEST'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TOO_LARGE'
  | 'TOO_MUCH_UNREAD'
  | 'UNKNOWN_PATH'

/** A value of the proto enum ErrorReason. */
type PublicReason = keyof typeof ErrorReason

/** An error that shares its public reason with an error of another status. */
export interface SharedRefusal extends Refusal {
  readonly reason: PublicReason
}

/**
 * The complete table. A reason that is not a value of the proto enum needs a row with a public
 * reason. Otherwise the table does not compile.
 */
export type AllRefusals = Readonly<
  Record<(Reason | TransportReason) & PublicReason, Refusal> &
    Record<Exclude<Reason, PublicReason>, SharedRefusal>
>

/** Some rows of the table. */
export type Refusals = Partial<AllRefusals>
