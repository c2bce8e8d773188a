/** The reason why a request could not be sent or received no response. */
export type OutboundFailure =
  /** The host has no address, or no name server answered. */
  | 'UNRESOLVABLE_HOST'
  /** An address of the host is private or reserved. */
  | 'BLOCKED_ADDRESS'
  /**
   * The connection could not be opened, or broke. Includes invalid certificates and responses that
   * are not HTTP.
   */
  | 'CONNECTION_FAILED'
  | 'TIMEOUT'
  /** The caller aborted the request. */
  | 'CANCELLED'

/**
 * A request without a response. The message contains the failure only, because the cause may reveal
 * details of the server's network.
 */
export class OutboundError extends Error {
  readonly failure: OutboundFailure

  constructor(failure: OutboundFailure, options?: ErrorOptions) {
    super(failure, options)
    this.name = 'OutboundError'
    this.failure = failure
  }
}
