/**
 * Applies a delta of a pack to its base (gitformat-pack(5), "Deltified representation").
 *
 * @returns undefined for a delta that does not fit its base or that promises more than `maxBytes`.
 */
export function applyDelta(base: Buffer, delta: Buffer, maxBytes: number): Buffer | undefined {
  const baseBytes = readSize(delta, 0)
  const { value: bytes, end } = readSize(delta, baseBytes.end)
  if (baseBytes.value !== base.length || bytes > maxBytes) return undefined
  const result = Buffer.allocUnsafeSlow(bytes)
  let written = 0
  let position = end
  while (position < delta.length) {
    const instruction = delta[position++] ?? 0
    if (instruction === 0) return undefined
    const isCopy = (instruction & COPY) !== 0
    const copy = isCopy ? readCopy(delta, position, instruction) : undefined
    const source = copy ? base : delta
    const start = copy?.offset ?? position
    const length = copy?.length ?? instruction
    if (start + length > source.length || written + length > bytes) return undefined
    source.copy(result, written, start, start + length)
    written += length
    position = copy?.end ?? position + length
  }
  return written === bytes ? result : undefined
}

/** Returns the size that a delta results in, from the beginning of the delta. */
export function sizeAfterDelta(start: Buffer): number {
  return readSize(start, readSize(start, 0).end).value
}

const COPY = 0x80

/** Bits of an instruction for the bytes of an offset and of a length. */
const OFFSET_BITS = [0x01, 0x02, 0x04, 0x08]
const LENGTH_BITS = [0x10, 0x20, 0x40]

/** A length that no instruction can name otherwise. */
const DEFAULT_LENGTH = 0x10000

function readCopy(delta: Buffer, position: number, instruction: number) {
  let end = position
  const read = (bits: readonly number[]) =>
    bits.reduce(
      (value, bit, i) =>
        (instruction & bit) === 0 ? value : value + byteAt(delta, end++) * 256 ** i,
      0,
    )
  const offset = read(OFFSET_BITS)
  const length = read(LENGTH_BITS) || DEFAULT_LENGTH
  return { offset, length, end }
}

/** Reads a size: seven bits of each byte, the least significant bits first. */
function readSize(bytes: Buffer, position: number): { value: number; end: number } {
  let value = 0
  let end = position
  for (let factor = 1; ; factor *= 128) {
    const byte = byteAt(bytes, end++)
    value += (byte & 0x7f) * factor
    if (byte < 0x80) return { value, end }
  }
}

function byteAt(bytes: Buffer, position: number): number {
  const byte = bytes[position]
  if (byte === undefined) throw new RangeError('a delta ends early')
  return byte
}
