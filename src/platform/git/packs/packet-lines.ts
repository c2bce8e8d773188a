/** The packet that ends a list of lines (gitprotocol-common(5), pkt-line). */
export const FLUSH = Buffer.from('0000')

/** The packet between the sections of a message of version 2 (gitprotocol-v2(5)). */
export const DELIMITER = Buffer.from('0001')

/** Bytes of the length that begins a packet. */
export const LENGTH_BYTES = 4

/** A packet: its kind, and the range of its content. */
export interface Packet {
  readonly kind: 'line' | 'flush' | 'delimiter'
  readonly start: number
  /** Where the next packet begins. */
  readonly end: number
}

/** Returns a packet with a text, which is in Latin-1 so that each character is one byte. */
export function packetLine(text: string): Buffer {
  const length = (text.length + LENGTH_BYTES).toString(16).padStart(LENGTH_BYTES, '0')
  return Buffer.from(`${length}${text}`, 'latin1')
}

/**
 * Returns the packet at an offset. Undefined at the end of the data, and when the data is not a
 * complete packet as Git writes packets.
 */
export function packetAt(data: Buffer, offset: number): Packet | undefined {
  const start = offset + LENGTH_BYTES
  if (start > data.length) return undefined
  const digits = data.toString('latin1', offset, start)
  if (digits === '0000') return { kind: 'flush', start, end: start }
  if (digits === '0001') return { kind: 'delimiter', start, end: start }
  if (!/^[0-9a-f]{4}$/.test(digits)) return undefined
  const end = offset + Number.parseInt(digits, 16)
  return end > start && end <= data.length ? { kind: 'line', start, end } : undefined
}
