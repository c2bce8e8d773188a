import { isIPv6, type Socket } from 'node:net'
import { type Admitted, isLoopback, peerNetwork } from './admission.ts'
import type { PeerCredits } from './credit.ts'
import type { ListenerLimits } from './limits.ts'
import type { OutgoingConnection } from './outgoing.ts'

/** The state of the protocol on a connection. Each protocol has its own implementation. */
export interface Conversation {
  /** Longest time without a request in flight. */
  readonly idleTimeoutMs: number
  /** Number of requests so far. */
  readonly requests: number
  /** Returns whether a request is still arriving or its response is incomplete. */
  isBusy(): boolean
  /** Returns whether the handler waits for bytes of a request from the client. */
  awaitsClient(): boolean
  /** Sends a ping, if the protocol has one. Returns whether it has. */
  probe(): boolean
  /** Closes the connection because of a timeout, with a message if the protocol has one. */
  expire(): void
  /**
   * Refuses further requests, and closes the connection when none is in flight.
   *
   * @param isSilenceKept whether a connection without a request in flight stays open for one more.
   */
  drain(isSilenceKept: boolean): void
  /** Called at each sweep of the timeouts. */
  onSweep?(): void
}

/** A server of one protocol. */
export interface ProtocolServer {
  /** Takes over `socket`: the socket of `connection`, or the TLS layer on top of it. */
  speak(connection: ClientConnection, socket: Socket): void
}

/** The accounts of a connection. */
export interface ConnectionAccounts {
  /** Credit of all peers for requests that they abandon before the response. */
  readonly credits: PeerCredits
  /** Unread bytes of this connection. */
  readonly outgoing: OutgoingConnection
}

/**
 * An accepted socket with its timeouts. Nothing here runs per request: a sweep compares the
 * socket's counters with those of the sweep before.
 */
export class ClientConnection implements Admitted {
  readonly socket: Socket
  readonly peer: string | undefined
  /** Unread bytes of this connection. */
  readonly outgoing: OutgoingConnection
  readonly #limits: ListenerLimits
  readonly #credits: PeerCredits
  #conversation: Conversation
  #requestsSeen = 0
  #idleSinceMs = performance.now()
  #heardAtMs = this.#idleSinceMs
  #bytesRead = 0
  #probedAtMs: number | undefined
  #windowStartMs = 0
  #windowBytesRead = 0
  #windowOpen = false
  #draining = false

  constructor(socket: Socket, limits: ListenerLimits, accounts: ConnectionAccounts) {
    this.socket = socket
    this.outgoing = accounts.outgoing
    const address = socket.remoteAddress ?? ''
    // All connections of a reverse proxy come from one address, so that a limit per peer makes no
    // sense.
    const isUncounted = isLoopback(address)
      ? !limits.limitLoopback
      : limits.uncountedAddresses.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
    this.peer = isUncounted ? undefined : peerNetwork(address)
    this.#limits = limits
    this.#credits = accounts.credits
    // The first request of a new connection may be on its way.
    const drain = (): void => this.linger()
    this.#conversation = { ...silence(socket, limits.headersTimeoutMs), drain }
  }

  /** Replaces the conversation and restarts the idle timeout. */
  begin(conversation: Conversation): void {
    this.#become(conversation)
    if (this.#draining) conversation.drain(false)
  }

  #become(conversation: Conversation): void {
    this.#conversation = conversation
    this.#requestsSeen = conversation.requests
    this.#idleSinceMs = performance.now()
  }

  /** Gives the peer a moment to send or read the last bytes and close, then destroys the socket. */
  linger(): void {
    this.#become(silence(this.socket, this.#limits.lingerTimeoutMs))
  }

  isBusy(): boolean {
    return this.#conversation.isBusy()
  }

  evict(): void {
    this.socket.destroy()
  }

  /** Closes the connection after the requests in flight. */
  drain(): void {
    this.#draining = true
    this.#conversation.drain(false)
  }

  /** Closes the connection after the requests in flight, or after its next one. */
  leave(): void {
    this.#conversation.drain(true)
  }

  /**
   * Charges the peer for requests that it abandoned before the response. A peer that abandons more
   * than clients usually do loses its connection, and gets no other until its credit is restored.
   */
  abandoned(requests: number): void {
    if (this.peer !== undefined && requests > 0 && this.#credits.spend(this.peer, requests))
      this.evict()
  }

  /** Checks the timeouts. `nowMs` is on the clock of `performance.now()`. */
  inspect(nowMs: number): void {
    const conversation = this.#conversation
    conversation.onSweep?.()
    const { bytesRead } = this.socket
    if (bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead
      this.#heardAtMs = nowMs
      this.#probedAtMs = undefined
    }
    const busy = conversation.isBusy()
    if (busy || conversation.requests !== this.#requestsSeen) {
      this.#requestsSeen = conversation.requests
      this.#idleSinceMs = nowMs
    }
    const overdue = busy
      ? this.#receivesTooSlowly(nowMs)
      : nowMs - this.#idleSinceMs >= conversation.idleTimeoutMs
    if (overdue) conversation.expire()
    else if (this.#peerIsGone(nowMs)) this.socket.destroy()
  }

  #receivesTooSlowly(nowMs: number): boolean {
    if (!this.#conversation.awaitsClient()) {
      this.#windowOpen = false
      return false
    }
    if (this.#windowOpen) {
      if (nowMs - this.#windowStartMs < this.#limits.stallTimeoutMs) return false
      if (this.#bytesRead - this.#windowBytesRead < this.#limits.minReceivedBytes) return true
    }
    this.#windowOpen = true
    this.#windowStartMs = nowMs
    this.#windowBytesRead = this.#bytesRead
    return false
  }

  #peerIsGone(nowMs: number): boolean {
    if (nowMs - this.#heardAtMs < this.#limits.pingAfterMs) return false
    if (this.#probedAtMs !== undefined)
      return nowMs - this.#probedAtMs >= this.#limits.pingTimeoutMs
    if (this.#conversation.probe()) this.#probedAtMs = nowMs
    return false
  }
}

/** Creates the state before and after a protocol. It destroys the socket after the timeout. */
function silence(socket: Socket, timeoutMs: number): Conversation {
  const destroy = (): void => {
    socket.destroy()
  }
  return {
    idleTimeoutMs: timeoutMs,
    requests: 0,
    isBusy: () => false,
    awaitsClient: () => false,
    probe: () => false,
    expire: destroy,
    drain: destroy,
  }
}
