import type { JsonObject } from '@bufbuild/protobuf'
import type { Code } from '@connectrpc/connect'
import type { ErrorReason } from '#gen/branchline/v1/error_reason_pb.ts'
import type { Reason } from '../../domain/core/errors.ts'

/** What goes with a reason. */
export type Metadata = Readonly<Record<string, string>>

/** What a reason looks like from outside. */
export interface Refusal {
  readonly code: Code
  /** For people. Programs read the reason. */
  readonly message: string | ((metadata: Metadata) => string)
  /** HTTP status over REST, where it is not the one that stands for the code. */
  readonly restStatus?: number
  /** Path of the request field at fault, where it is always the same one. */
  readonly field?: string
  /**
   * Path and query to go to instead, over REST; undefined when that cannot be told from the URL.
   */
  readonly location?: (metadata: Metadata, requestUrl: string) => string | undefined
  /** Body over REST, where compatible systems have one of its own. */
  readonly body?: (metadata: Metadata, message: string) => JsonObject
  /**
   * Whether the answer over REST has no body, as in compatible systems. For rows with a
   * `restStatus`.
   */
  readonly isBodiless?: true
  /** Name and value of a header of the answer, metadata over gRPC. */
  readonly header?: readonly [string, string] | ((metadata: Metadata) => readonly [string, string])
}

/**
 * What the client sent cannot be read, leads nowhere, finds no room or comes too late; found by the
 * transports, not by the rules.
 */
export type TransportReason =
  | 'DEADLINE_EXCEEDED'
  | 'MALFORMED_REQUEST'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TOO_LARGE'
  | 'TOO_MUCH_UNREAD'
  | 'UNKNOWN_PATH'

/** A value of the proto enum. */
type PublicReason = keyof typeof ErrorReason

/** A situation that shares its public reason with another one, of another status. */
export interface SharedRefusal extends Refusal {
  readonly reason: PublicReason
}

/**
 * The whole table. For a reason that is no value of the proto enum, and whose row names none, it
 * does not compile.
 */
export type AllRefusals = Readonly<
  Record<(Reason | TransportReason) & PublicReason, Refusal> &
    Record<Exclude<Reason, PublicReason>, SharedRefusal>
>

/** Some rows of it. */
export type Refusals = Partial<AllRefusals>
