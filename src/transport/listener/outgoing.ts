import type { ListenerLimits } from './limits.ts'

/** Answers up to here are sent although a bound is reached: refusals are. */
const MAX_REFUSAL_BYTES = 4 * 1024

/** Where less room is left than this, nothing is computed: most answers fit into it. */
const MIN_ROOM_BYTES = 1024 * 1024

/** Whose bound it is. */
export type Scope = 'connection' | 'peer' | 'server'

/** The limits of what waits for readers. */
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

/** A response, as far as the ledger looks at it. */
export interface Outflow {
  /** Bytes that were written and not yet taken by the transport. */
  readonly waitingBytes: number
  /** Whether it is closed, and has said so or is about to. */
  readonly isGone: boolean
  once(event: 'close', listener: () => void): unknown
  /** Ends the exchange at once, in a way that clients notice, and forgets what was not sent. */
  cutOff(): void
}

/** A bound that is reached. */
export interface AnswerLimit {
  readonly scope: Scope
  readonly maxBytes: number
  readonly maxStreams: number
}

/** What answers hold together: of a connection, of a peer, or of the server. */
class Tally implements AnswerLimit {
  readonly scope: Scope
  readonly maxBytes: number
  readonly maxStreams: number
  bytes = 0
  streams = 0
  /** Whether something was refused because this tally is full, since the last sweep. */
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
 * The ledger of everything that waits for readers, and of the long streams that are open. It is
 * kept below all protocols: a response is counted from its first byte until the transport has taken
 * its last one.
 */
export class Outgoing {
  readonly #limits: OutgoingLimits
  readonly #server: Tally
  readonly #peers = new Map<string, Tally>()
  /** Stands in for a peer that holds nothing. */
  readonly #idlePeer: Tally
  readonly #waiting = new Set<Answer>()

  constructor(limits: OutgoingLimits) {
    this.#limits = limits
    this.#idlePeer = this.#newPeer()
    this.#server = new Tally('server', limits.maxWaitingBytes, limits.maxLongStreams)
  }

  /** Bytes that wait for readers, reservations included. */
  get bytes(): number {
    return this.#server.bytes
  }

  /** Long streams that are open. */
  get streams(): number {
    return this.#server.streams
  }

  /** The account of a new connection. Its owner closes it with the connection. */
  open(): OutgoingConnection {
    const { maxWaitingBytesPerConnection, maxLongStreamsPerConnection } = this.#limits
    return new OutgoingConnection(
      this,
      new Tally('connection', maxWaitingBytesPerConnection, maxLongStreamsPerConnection),
    )
  }

  /**
   * Cuts off readers that are too slow while others are refused for want of room.
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

  /**
   * For answers only: adds to all tallies of an answer, and keeps it for the sweep while bytes of
   * it wait.
   */
  count(answer: Answer, connection: Tally, bytes: number, streams: number): void {
    connection.add(bytes, streams)
    this.#server.add(bytes, streams)
    if (answer.network !== undefined) this.#countPeer(answer.network, bytes, streams)
    if (answer.isWaiting) this.#waiting.add(answer)
    else this.#waiting.delete(answer)
  }

  /** For answers only: the first bound for which `isFull` says so. */
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

/** The answers of one connection. */
export class OutgoingConnection {
  readonly #outgoing: Outgoing
  readonly #tally: Tally
  readonly #answers = new Set<Answer>()

  constructor(outgoing: Outgoing, tally: Tally) {
    this.#outgoing = outgoing
    this.#tally = tally
  }

  /**
   * The account of an answer.
   *
   * @param network of the peer that asks; undefined for one that is not counted.
   */
  begin(outflow: Outflow, network: string | undefined): Answer {
    return new Answer(this.#outgoing, this, this.#tally, outflow, network)
  }

  /** For answers only: remembers one that holds something. */
  keep(answer: Answer): void {
    this.#answers.add(answer)
  }

  /** For answers only. */
  forget(answer: Answer): void {
    this.#answers.delete(answer)
  }

  /**
   * Forgets all answers. Node does not tell the answers to pipelined requests that their connection
   * is closed.
   */
  close(): void {
    for (const answer of this.#answers) answer.close()
  }
}

/** What one answer holds. */
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
  /** Whether it is a stream of messages, which its writer sends no faster than the reader reads. */
  isStream = false
  /** Whether its bytes are the same ones for all readers, so that one reader more costs nothing. */
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

  /** Whether bytes wait for the reader. */
  get isWaiting(): boolean {
    return this.#waiting > 0
  }

  /**
   * The bound that an answer of so many bytes would break; undefined when there is room for it. An
   * answer may be larger than the bound of its connection when nothing else waits on that
   * connection, and one that is as small as a refusal is always sent.
   */
  lacks(bytes: number): AnswerLimit | undefined {
    if (bytes <= MAX_REFUSAL_BYTES) return undefined
    const own = this.#charged
    return this.#outgoing.findFull(this, this.#tally, (tally) => {
      const others = tally.bytes - own
      return others + bytes > tally.maxBytes && (tally !== this.#tally || others > 0)
    })
  }

  /**
   * The bound that is reached already, whatever the answer will be; undefined when there is room.
   */
  fullBound(): AnswerLimit | undefined {
    return this.#outgoing.findFull(this, this.#tally, isFull)
  }

  /**
   * Takes room for an answer before it is made. The room is given back when the answer has been
   * sent.
   *
   * @param bytes of the whole answer.
   * @returns the bound that it would break, when there is no room.
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
   * Takes a place for a long stream. The place is given back when the answer is closed.
   *
   * @returns the bound that is reached, when no place is left.
   */
  enterStream(): AnswerLimit | undefined {
    const full = this.#outgoing.findFull(this, this.#tally, isCrowded)
    if (full !== undefined || this.isStream) return full
    this.#watch()
    if (this.#isClosed) return undefined
    this.isStream = true
    this.#outgoing.count(this, this.#tally, 0, 1)
    return undefined
  }

  /** Says that bytes were written, which may still wait. */
  wrote(bytes: number): void {
    this.#written += bytes
    this.measure()
  }

  /** Brings the ledger up to date with what the transport has taken. */
  measure(): void {
    if (this.#isClosed) return
    const wasWaiting = this.isWaiting
    this.#waiting = this.#outflow.waitingBytes
    const held = this.isEnded ? this.#waiting : Math.max(this.#reserved, this.#waiting)
    const bytes = (this.isShared ? 0 : held) - this.#charged
    if (this.#waiting === 0) this.#windowStartMs = undefined
    // What waits within a reservation changes no tally, but the sweep has to know of it.
    if (bytes === 0 && (this.isShared || this.isWaiting === wasWaiting)) return
    this.#watch()
    if (this.#isClosed) return
    this.#charged += bytes
    this.#outgoing.count(this, this.#tally, bytes, 0)
  }

  /**
   * Whether bytes have waited for a whole window, in which the reader took fewer than it should.
   */
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

  /** Gives everything back. */
  close(): void {
    if (this.#isClosed) return
    const streams = this.isStream ? 1 : 0
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
