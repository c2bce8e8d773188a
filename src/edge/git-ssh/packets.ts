/** Packets of the pkt-line format (gitprotocol-common(5)), as they come from a client. */

/** A packet: its data, or one that ends a section (`delimiter`) or a request (`flush`). */
export type Packet = Buffer | 'flush' | 'delimiter'

/** The largest data of a packet. */
export const MAX_PACKET_DATA_BYTES = 65_516

const LENGTH_BYTES = 4
const LENGTH = /^[0-9a-f]{4}$/i
const DELIMITER_LENGTH = 1

export const DELIMITER = Buffer.from('0001')

/** The input is no sequence of packets, or ends within one. */
export class PacketError extends Error {
  override readonly name = 'PacketError'
}

/** Reads packets one by one. */
export class PacketReader {
  readonly #chunks: AsyncIterator<Buffer, void>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterator<Buffer, void>) {
    this.#chunks = chunks
  }

  /**
   * Returns the next packet; undefined when the input ends.
   *
   * @throws PacketError
   */
  async next(): Promise<Packet | undefined> {
    const digits = (await this.#take(LENGTH_BYTES))?.toString('latin1')
    if (digits === undefined) return undefined
    const length = LENGTH.test(digits) ? Number.parseInt(digits, 16) : Number.NaN
    if (length === 0) return 'flush'
    if (length === DELIMITER_LENGTH) return 'delimiter'
    if (!(length >= LENGTH_BYTES && length <= LENGTH_BYTES + MAX_PACKET_DATA_BYTES))
      throw new PacketError('the length of a packet is not valid')
    const data = await this.#take(length - LENGTH_BYTES)
    if (!data) throw cutOff()
    return data
  }

  async #take(bytes: number): Promise<Buffer | undefined> {
    while (this.#rest.length < bytes) {
      const { value, done } = await this.#chunks.next()
      if (done) {
        if (this.#rest.length === 0) return undefined
        throw cutOff()
      }
      this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value])
    }
    const taken = this.#rest.subarray(0, bytes)
    this.#rest = this.#rest.subarray(bytes)
    return taken
  }
}

/** Returns the error for input that ends too early. */
export function cutOff(): PacketError {
  return new PacketError('the input ends within a request')
}

/** Returns a packet with data. */
export function dataPacket(data: Buffer): Buffer {
  const length = (data.length + LENGTH_BYTES).toString(16).padStart(LENGTH_BYTES, '0')
  return Buffer.concat([Buffer.from(length), data])
}
