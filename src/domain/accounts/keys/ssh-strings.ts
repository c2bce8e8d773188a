/**
 * Strings behind each other, each behind its length (RFC 4251, section 5); none if the bytes are
 * something else.
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

/** The same, written. */
export function writeStrings(strings: readonly Buffer[]): Buffer {
  return Buffer.concat(
    strings.flatMap((bytes) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  )
}
