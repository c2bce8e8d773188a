/** The result of a delta, and what it took. */
export interface Applied {
  /** Undefined for a delta that does not fit its base, and for one that exceeds a limit. */
  readonly content: Buffer | undefined
  readonly instructions: number
}

/** Limits of the result of a delta, and of its instructions. */
export interface DeltaLimits {
  readonly maxBytes: number
  readonly maxInstructions: number
}

/** Marks a copy. The other bits tell which bytes of offset and length follow. */
const COPY = 0x80

/** A length that no instruction can name otherwise. */
const DEFAULT_LENGTH = 0x10000

/** Up to this length, a loop is faster than a call that copies. */
const SHORT = 32

/** Applies a delta of a pack to its base (gitformat-pack(5), "Deltified representation"). */
export function applyDelta(
  base: Buffer,
  delta: Buffer,
  { maxBytes, maxInstructions }: DeltaLimits,
): Applied {
  const baseBytes = readSize(delta, 0)
  const { value: bytes, end } = readSize(delta, baseBytes.end)
  let instructions = 0
  if (baseBytes.value !== base.length || bytes > maxBytes)
    return { content: undefined, instructions }
  const result = Buffer.allocUnsafeSlow(bytes)
  let written = 0
  let at = end
  // Clients choose the instructions. Nothing here may allocate memory or call a closure.
  while (at < delta.length) {
    const instruction = delta[at++] as number
    if (instruction === 0 || instructions === maxInstructions)
      return { content: undefined, instructions }
    instructions += 1
    let source = delta
    let start = at
    let length = instruction
    if ((instruction & COPY) !== 0) {
      source = base
      start = 0
      length = 0
      // A delta that ends early adds NaN, which fails the check below.
      if ((instruction & 0x01) !== 0) start = delta[at++] as number
      if ((instruction & 0x02) !== 0) start += (delta[at++] as number) * 0x100
      if ((instruction & 0x04) !== 0) start += (delta[at++] as number) * 0x10000
      if ((instruction & 0x08) !== 0) start += (delta[at++] as number) * 0x1000000
      if ((instruction & 0x10) !== 0) length = delta[at++] as number
      if ((instruction & 0x20) !== 0) length += (delta[at++] as number) * 0x100
      if ((instruction & 0x40) !== 0) length += (delta[at++] as number) * 0x10000
      if (length === 0) length = DEFAULT_LENGTH
    } else {
      at += instruction
    }
    const stop = start + length
    if (!(stop <= source.length && written + length <= bytes))
      return { content: undefined, instructions }
    if (length < SHORT) while (start < stop) result[written++] = source[start++] as number
    else written += source.copy(result, written, start, stop)
  }
  return { content: written === bytes ? result : undefined, instructions }
}

/** Returns the size that a delta results in, from the beginning of the delta. */
export function sizeAfterDelta(start: Buffer): number {
  return readSize(start, readSize(start, 0).end).value
}

/** Reads a size: seven bits of each byte, the least significant bits first. */
function readSize(bytes: Buffer, position: number): { value: number; end: number } {
  let value = 0
  let end = position
  for (let factor = 1; ; factor *= 128) {
    const byte = bytes[end++]
    if (byte === undefined) throw new RangeError('a delta ends early')
    value += (byte & 0x7f) * factor
    if (byte < 0x80) return { value, end }
  }
}
