import { type Holder, peerHolder } from '../../concurrency/holders.ts'
import { Shares } from '../../concurrency/shares.ts'
import type { ListenerLimits } from './limits.ts'

/** Responses up to this size are sent even at a limit, so that refusals always arrive. */
const MAX_REFUSAL_BYTES = 4 * 1024

/**
 * With fewer bytes left, calls are refused before they start. Most responses fit into this size.
 */
const MIN_ROOM_BYTES = 1024 * 1024

/** The object that a limit applies to. */
export type Scope = 'connection' | 'peer' | 'server'

/** The limits of unread bytes and open streams. */
export type OutgoingLimits = Pick<
  ListenerLimits,
  | 'maxWaitingBytesPerConnection'
  | 'maxWaitingBytesPerPeer'
  | 'maxWaitingBytes'
  | 'maxLongStreamsPerConnection'
  | 'maxLongStreamsPerPeer'
  | 'maxLongStreams'
  | 'slowReaderWindowMs'
  | 'minTakenBytes'
>

/** A response, as the accounting sees it. */
export interface Outflow {
  /** Bytes that were written and that the transport has not taken yet. */
  readonly waitingBytes: number
  /** Whether the response is closed, even if it has not emitted 'close' yet. */
  readonly isGone: boolean
  once(event: 'close', listener: () => void): unknown
  /** Ends the response at once so that clients notice, and discards unsent bytes. */
  cutOff(): void
}

/** A limit that is reached. */
export interface AnswerLimit {
  readonly scope: Scope
  readonly maxBytes: number
  readonly maxStreams: number
}

/** The sum over the responses of a connection, a peer, or the server. */
class Tally implements AnswerLimit {
  readonly scope: Scope
  readonly maxBytes: number
  readonly maxStreams: number
  bytes = 0
  streams = 0
  /** Whether a call was refused because of this limit since the last sweep. */
  contended = false

  constructor(scope: Scope, maxBytes: number, maxStreams: number) {
    this.scope = scope
    this.maxBytes = maxBytes
    this.maxStreams = maxStreams
  }

  add(bytes: number, streams: number): void {
    this.bytes += bytes
    this.streams += streams
  }
}

const isFull = ({ bytes, maxBytes }: Tally) => bytes > maxBytes - MIN_ROOM_BYTES
const isCrowded = ({ streams, maxStreams }: Tally) => streams >= maxStreams

/**
 * The accounting of unread bytes and open message streams, below all protocols. A response counts
 * from its first byte until the transport has taken its last one.
 */
export class Outgoing {
  readonly #limits: OutgoingLimits
  readonly #server: Tally
  /** The message streams that the server may have, shared by accounts and peers. */
  readonly #streams: Shares
  readonly #peers = new Map<string, Tally>()
  /** Represents every peer without unread bytes and streams. */
  readonly #idlePeer: Tally
  readonly #waiting = new Set<Answer>()

  constructor(limits: OutgoingLimits) {
    this.#limits = limits
    this.#idlePeer = this.#newPeer()
    const { maxLongStreams } = limits
    this.#server = new Tally('server', limits.maxWaitingBytes, maxLongStreams)
    // With as many first places for accounts, and as many for strangers, these are all streams.
    this.#streams = new Shares({
      max: Math.ceil(maxLongStreams / 2),
      firstPlaces: Math.floor(maxLongStreams / 4),
    })
  }

  /** Unread bytes, reservations included. */
  get bytes(): number {
    return this.#server.bytes
  }

  /** Open message streams. */
  get streams(): number {
    return this.#server.streams
  }

  /** Opens the account of a new connection. The caller closes it with the connection. */
  open(): OutgoingConnection {
    const { maxWaitingBytesPerConnection, maxLongStreamsPerConnection } = this.#limits
    return new OutgoingConnection(
      this,
      new Tally('connection', maxWaitingBytesPerConnection, maxLongStreamsPerConnection),
    )
  }

  /**
   * Cuts off slow readers where a limit has led to refusals.
   *
   * @param nowMs on the clock of `performance.now()`.
   */
  sweep(nowMs: number): void {
    const { slowReaderWindowMs, minTakenBytes } = this.#limits
    for (const answer of this.#waiting) {
      answer.measure()
      const isSlow = answer.isSlow(nowMs, slowReaderWindowMs, minTakenBytes)
      if (isSlow && this.#isContended(answer)) answer.cutOff()
    }
    this.#server.contended = false
    for (const peer of this.#peers.values()) peer.contended = false
  }

  /** Adds to all sums of a response. For `Answer` only. */
  count(answer: Answer, connection: Tally, bytes: number, streams: number): void {
    connection.add(bytes, streams)
    this.#server.add(bytes, streams)
    if (answer.network !== undefined) this.#countPeer(answer.network, bytes, streams)
    if (answer.isWaiting) this.#waiting.add(answer)
    else this.#waiting.delete(answer)
  }

  /** Returns the first limit for which `isFull` is true. For `Answer` only. */
  findFull(
    answer: Answer,
    connection: Tally,
    isFull: (tally: Tally) => boolean,
  ): AnswerLimit | undefined {
    const peer =
      answer.network === undefined ? undefined : (this.#peers.get(answer.network) ?? this.#idlePeer)
    const full = isFull(connection)
      ? connection
      : peer !== undefined && isFull(peer)
        ? peer
        : isFull(this.#server)
          ? this.#server
          : undefined
    if (full !== undefined) full.contended = true
    return full
  }

  /**
   * Returns the limit of the server if a peer has as many unread bytes as are free: peers share the
   * bytes as `Shares` does, so that one without unread bytes finds some. For `Answer` only.
   *
   * @param own bytes that do not count.
   */
  shareExceeded({ network }: Answer, own: number): AnswerLimit | undefined {
    const peer = network === undefined ? undefined : this.#peers.get(network)
    const others = (peer?.bytes ?? 0) - own
    if (others <= 0 || others < this.#server.maxBytes - this.#server.bytes) return undefined
    this.#server.contended = true
    return this.#server
  }

  /** Takes a message stream for a holder. Returns the limit that is reached. For `Answer` only. */
  takeStream(holder: Holder): AnswerLimit | undefined {
    if (!this.#streams.admits(holder)) {
      this.#server.contended = true
      return this.#server
    }
    this.#streams.take(holder)
    return undefined
  }

  /** Gives a message stream back. For `Answer` only. */
  releaseStream(holder: Holder): void {
    this.#streams.release(holder)
  }

  #isContended({ network }: Answer): boolean {
    return (
      this.#server.contended ||
      (network !== undefined && this.#peers.get(network)?.contended === true)
    )
  }

  #countPeer(network: string, bytes: number, streams: number): void {
    let peer = this.#peers.get(network)
    if (peer === undefined) {
      peer = this.#newPeer()
      this.#peers.set(network, peer)
    }
    peer.add(bytes, streams)
    if (peer.bytes === 0 && peer.streams === 0) this.#peers.delete(network)
  }

  #newPeer(): Tally {
    return new Tally(
      'peer',
      this.#limits.maxWaitingBytesPerPeer,
      this.#limits.maxLongStreamsPerPeer,
    )
  }
}

/** The responses of one connection. */
export class OutgoingConnection {
  readonly #outgoing: Outgoing
  readonly #tally: Tally
  readonly #answers = new Set<Answer>()

  constructor(outgoing: Outgoing, tally: Tally) {
    this.#outgoing = outgoing
    this.#tally = tally
  }

  /**
   * Opens the account of a response.
   *
   * @param network of the peer; undefined for a peer without limits.
   */
  begin(outflow: Outflow, network: string | undefined): Answer {
    return new Answer(this.#outgoing, this, this.#tally, outflow, network)
  }

  /** Adds a response that counts. For `Answer` only. */
  keep(answer: Answer): void {
    this.#answers.add(answer)
  }

  /** Removes a response. For `Answer` only. */
  forget(answer: Answer): void {
    this.#answers.delete(answer)
  }

  /**
   * Closes all responses. Node does not emit 'close' on responses to pipelined requests when their
   * connection closes.
   */
  close(): void {
    for (const answer of this.#answers) answer.close()
  }
}

/** The account of one response. */
export class Answer {
  readonly network: string | undefined
  readonly #outgoing: Outgoing
  readonly #connection: OutgoingConnection
  readonly #tally: Tally
  readonly #outflow: Outflow
  #reserved = 0
  #charged = 0
  #written = 0
  #waiting = 0
  #state: 'unwatched' | 'watched' | 'closed' = 'unwatched'
  #windowStartMs: number | undefined
  #windowTaken = 0
  #streamHolder: Holder | undefined
  /** Whether all readers share the same bytes, so that another reader costs no memory. */
  isShared = false
  isEnded = false

  constructor(
    outgoing: Outgoing,
    connection: OutgoingConnection,
    tally: Tally,
    outflow: Outflow,
    network: string | undefined,
  ) {
    this.#outgoing = outgoing
    this.#connection = connection
    this.#tally = tally
    this.#outflow = outflow
    this.network = network
  }

  /** Whether this is a message stream, whose writer follows the speed of the reader. */
  get isStream(): boolean {
    return this.#streamHolder !== undefined
  }

  /** Whether there are unread bytes. */
  get isWaiting(): boolean {
    return this.#waiting > 0
  }

  /**
   * Returns the limit that a response of `bytes` would exceed, or undefined. A response may exceed
   * the limit of its connection when that connection has no other unread bytes. A response as small
   * as a refusal is always allowed.
   */
  lacks(bytes: number): AnswerLimit | undefined {
    if (bytes <= MAX_REFUSAL_BYTES) return undefined
    const own = this.#charged
    const full = this.#outgoing.findFull(this, this.#tally, (tally) => {
      const others = tally.bytes - own
      return others + bytes > tally.maxBytes && (tally !== this.#tally || others > 0)
    })
    return full ?? this.#outgoing.shareExceeded(this, own)
  }

  /** Returns the limit that is reached already, whatever the size of the response, or undefined. */
  fullBound(): AnswerLimit | undefined {
    return (
      this.#outgoing.findFull(this, this.#tally, isFull) ??
      this.#outgoing.shareExceeded(this, this.#charged)
    )
  }

  /**
   * Reserves bytes for a response before it is created, until it has been sent.
   *
   * @param bytes of the whole response.
   * @returns the limit that the response would exceed, or undefined.
   */
  reserve(bytes: number): AnswerLimit | undefined {
    const lacking = this.lacks(bytes)
    if (lacking === undefined) {
      this.#reserved = bytes
      this.measure()
    }
    return lacking
  }

  /**
   * Counts the response as a message stream until it is closed.
   *
   * @param holder the caller. By default, the peer.
   * @returns the limit that is reached, or undefined.
   */
  enterStream(holder: Holder = peerHolder(this.network)): AnswerLimit | undefined {
    if (this.isStream) return undefined
    const full = this.#outgoing.findFull(this, this.#tally, isCrowded)
    if (full !== undefined) return full
    this.#watch()
    if (this.#isClosed) return undefined
    const crowded = this.#outgoing.takeStream(holder)
    if (crowded !== undefined) return crowded
    this.#streamHolder = holder
    this.#outgoing.count(this, this.#tally, 0, 1)
    return undefined
  }

  /** Counts bytes that were written. */
  wrote(bytes: number): void {
    this.#written += bytes
    this.measure()
  }

  /** Updates the sums by the bytes that the transport has taken. */
  measure(): void {
    if (this.#isClosed) return
    const wasWaiting = this.isWaiting
    this.#waiting = this.#outflow.waitingBytes
    const held = this.isEnded ? this.#waiting : Math.max(this.#reserved, this.#waiting)
    const bytes = (this.isShared ? 0 : held) - this.#charged
    if (this.#waiting === 0) this.#windowStartMs = undefined
    // Unread bytes within a reservation change no sum, but the sweep must see the response.
    if (bytes === 0 && (this.isShared || this.isWaiting === wasWaiting)) return
    this.#watch()
    if (this.#isClosed) return
    this.#charged += bytes
    this.#outgoing.count(this, this.#tally, bytes, 0)
  }

  /** Returns whether the reader took fewer than `minBytes` in a window with unread bytes. */
  isSlow(nowMs: number, windowMs: number, minBytes: number): boolean {
    const taken = this.#written - this.#waiting
    if (this.#windowStartMs === undefined) {
      this.#windowStartMs = nowMs
      this.#windowTaken = taken
      return false
    }
    if (nowMs - this.#windowStartMs < windowMs) return false
    const isSlow = taken - this.#windowTaken < minBytes
    if (!isSlow) this.#windowStartMs = undefined
    return isSlow
  }

  cutOff(): void {
    this.#outflow.cutOff()
    this.close()
  }

  /** Subtracts the response from all sums. */
  close(): void {
    if (this.#isClosed) return
    const streams = this.isStream ? 1 : 0
    if (this.#streamHolder !== undefined) this.#outgoing.releaseStream(this.#streamHolder)
    const bytes = this.#charged
    this.#state = 'closed'
    this.#waiting = 0
    this.#charged = 0
    if (bytes !== 0 || streams !== 0) this.#outgoing.count(this, this.#tally, -bytes, -streams)
    this.#connection.forget(this)
  }

  get #isClosed(): boolean {
    return this.#state === 'closed'
  }

  #watch(): void {
    if (this.#state !== 'unwatched') return
    if (this.#outflow.isGone) {
      this.close()
      return
    }
    this.#state = 'watched'
    this.#connection.keep(this)
    this.#outflow.once('close', () => this.close())
  }
}
