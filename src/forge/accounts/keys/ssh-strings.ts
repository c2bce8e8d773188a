/**
 * Parses consecutive length-prefixed strings (RFC 4251, section 5); empty if the bytes are invalid.
 */
export function readStrings(bytes: Buffer): Buffer[] {
  const strings: Buffer[] = []
  let at = 0
  while (at < bytes.length) {
    const end = at + 4 <= bytes.length ? at + 4 + bytes.readUInt32BE(at) : Number.POSITIVE_INFINITY
    if (end > bytes.length) return []
    strings.push(bytes.subarray(at + 4, end))
    at = end
  }
  return strings
}

/** Writes consecutive length-prefixed strings (RFC 4251, section 5). */
export function writeStrings(strings: readonly Buffer[]): Buffer {
  return Buffer.concat(
    strings.flatMap((bytes) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  )
}
