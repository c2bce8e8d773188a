import { isIPv6, type Socket } from 'node:net'
import { type Admitted, isLoopback, peerNetwork } from './admission.ts'
import type { PeerCredits } from './credit.ts'
import type { ListenerLimits } from './limits.ts'
import type { OutgoingConnection } from './outgoing.ts'

/** What is being spoken on a connection; one implementation for each protocol. */
export interface Conversation {
  /** How long it may stay without a request in flight. */
  readonly idleTimeoutMs: number
  /** Requests begun so far. */
  readonly requests: number
  /** Whether a request is in flight: still arriving, or not yet answered in full. */
  isBusy(): boolean
  /**
   * Whether the client owes bytes of a request, and none of those it has sent wait for the handler.
   */
  awaitsClient(): boolean
  /** Makes a live peer send something, if the protocol has a way. Returns whether it has. */
  probe(): boolean
  /** Closes the connection because a limit is reached, saying so if the protocol can. */
  expire(): void
  /** Takes no further request, and closes the connection as soon as none is in flight. */
  drain(): void
}

/** Speaks one protocol on sockets that are handed to it. */
export interface ProtocolServer {
  /** Takes over `socket`, which is that of `connection` or the TLS layer on top of it. */
  speak(connection: ClientConnection, socket: Socket): void
}

/** What a connection is counted in. */
export interface ConnectionAccounts {
  /** Of all peers: requests that they left before they were answered. */
  readonly credits: PeerCredits
  /** Of this connection: what waits for its reader. */
  readonly outgoing: OutgoingConnection
}

/**
 * An accepted socket and the deadlines of whatever is spoken on it. Nothing here runs per request:
 * progress is found by comparing the socket's counters from one sweep to the next.
 */
export class ClientConnection implements Admitted {
  readonly socket: Socket
  readonly peer: string | undefined
  /** What waits for the reader. */
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

  constructor(socket: Socket, limits: ListenerLimits, accounts: ConnectionAccounts) {
    this.socket = socket
    this.outgoing = accounts.outgoing
    const address = socket.remoteAddress ?? ''
    // Where a reverse proxy on this machine speaks for everyone, connections of one peer mean
    // nothing.
    const isUncounted = isLoopback(address)
      ? !limits.limitLoopback
      : limits.uncountedAddresses.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
    this.peer = isUncounted ? undefined : peerNetwork(address)
    this.#limits = limits
    this.#credits = accounts.credits
    this.#conversation = silence(socket, limits.headersTimeoutMs)
  }

  /** Replaces what is spoken, with a fresh deadline. */
  begin(conversation: Conversation): void {
    this.#conversation = conversation
    this.#requestsSeen = conversation.requests
    this.#idleSinceMs = performance.now()
  }

  /** Waits a moment for the peer to take what was written and close, then destroys the socket. */
  linger(): void {
    this.begin(silence(this.socket, this.#limits.lingerTimeoutMs))
  }

  isBusy(): boolean {
    return this.#conversation.isBusy()
  }

  evict(): void {
    this.socket.destroy()
  }

  drain(): void {
    this.#conversation.drain()
  }

  /**
   * Charges the peer for requests that it left before their answers began. A peer that does so more
   * often than clients do loses the connection, and gets no other until its credit is back.
   */
  abandoned(requests: number): void {
    if (this.peer !== undefined && requests > 0 && this.#credits.spend(this.peer, requests))
      this.evict()
  }

  /** Holds the connection against its deadlines; `nowMs` is on the clock of `performance.now()`. */
  inspect(nowMs: number): void {
    const conversation = this.#conversation
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

/** Nothing is spoken, yet or any more: the socket is destroyed when the time is over. */
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
