/**
 * The requests of a client in version 2 of the protocol (gitprotocol-v2(5)). Each ends with a flush
 * packet. The client sends the next one when it has the whole answer.
 */

const FLUSH = '0000'
const LENGTH_BYTES = FLUSH.length
const LENGTH = /^[0-9a-f]{4}$/i

/** Reads requests one by one, at the speed at which somebody takes them. */
export class FetchRequests {
  readonly #input: AsyncIterator<Buffer, void>
  /** Bytes behind what was yielded. */
  #rest: Buffer = Buffer.alloc(0)

  constructor(input: AsyncIterator<Buffer, void>) {
    this.#input = input
  }

  /** Returns whether another request begins. A client that wants nothing more leaves, or sends a flush packet. */
  async hasNext(): Promise<boolean> {
    while (this.#rest.length < LENGTH_BYTES) if (!(await this.#readOn())) return false
    return this.#rest.toString('latin1', 0, LENGTH_BYTES) !== FLUSH
  }

  /** Yields the bytes of the next request, as they arrive. */
  async *next(): AsyncGenerator<Buffer, void, undefined> {
    /** Bytes of a packet that have not arrived. */
    let missing = 0
    do {
      const { end, missing: stillMissing, isLast } = packetsFrom(this.#rest, missing)
      missing = stillMissing
      const complete = this.#rest.subarray(0, end)
      this.#rest = this.#rest.subarray(end)
      if (complete.length > 0) yield complete
      if (isLast) return
    } while (await this.#readOn())
  }

  async #readOn(): Promise<boolean> {
    const { value, done } = await this.#input.next()
    if (done) return false
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value])
    return true
  }
}

/**
 * Finds the end of packets, up to a flush packet. Git refuses what is no packet, which counts as an empty
 * one.
 *
 * @param missing bytes at the beginning that belong to a packet before.
 */
function packetsFrom(data: Buffer, missing: number) {
  let end = missing
  while (end + LENGTH_BYTES <= data.length) {
    const digits = data.toString('latin1', end, end + LENGTH_BYTES)
    const length = LENGTH.test(digits) ? Number.parseInt(digits, 16) : 0
    end += Math.max(length, LENGTH_BYTES)
    if (digits === FLUSH) return { end, missing: 0, isLast: true }
  }
  const arrived = Math.min(end, data.length)
  return { end: arrived, missing: end - arrived, isLast: false }
}
