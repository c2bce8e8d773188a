const LINE_FEED = 0x0a

/**
 * Splits chunks into lines without their line feeds. An unfinished last line is dropped.
 *
 * @param maxBytes maximum length of a line; longer lines are truncated.
 * @returns a function that takes the next chunk and returns the lines that end in the chunk.
 */
export function lineSplitter(maxBytes: number): (chunk: Buffer) => Buffer[] {
  let begun: Buffer[] = []
  let begunBytes = 0
  const keep = (piece: Buffer) => {
    if (begunBytes >= maxBytes || piece.length === 0) return
    begun.push(piece.subarray(0, maxBytes - begunBytes))
    begunBytes += piece.length
  }
  return (chunk) => {
    const lines: Buffer[] = []
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      keep(chunk.subarray(start, end))
      lines.push(begun.length === 1 ? (begun[0] ?? Buffer.alloc(0)) : Buffer.concat(begun))
      begun = []
      begunBytes = 0
      start = end + 1
    }
    keep(chunk.subarray(start))
    return lines
  }
}
