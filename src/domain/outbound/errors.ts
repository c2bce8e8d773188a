/** Why a request could not be sent, or got no answer. */
export type OutboundFailure =
  /** The host has no address, or no name server said so. */
  | 'UNRESOLVABLE_HOST'
  /** An address of the host is private or reserved. */
  | 'BLOCKED_ADDRESS'
  /**
   * The connection could not be made, or broke. Bad certificates, and answers that are not HTTP,
   * count too.
   */
  | 'CONNECTION_FAILED'
  | 'TIMEOUT'
  /** The signal fired that the caller gave. */
  | 'CANCELLED'

/**
 * A request without an answer. The message is the failure alone: the cause may tell about the
 * server's network.
 */
export class OutboundError extends Error {
  readonly failure: OutboundFailure

  constructor(failure: OutboundFailure, options?: ErrorOptions) {
    super(failure, options)
    this.name = 'OutboundError'
    this.failure = failure
  }
}
