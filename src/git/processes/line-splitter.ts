const LINE_FEED = 0x0a

/**
 * Cuts what comes in chunks into lines, without their line feeds. A last line without one is none.
 *
 * @param maxBytes kept of a line; what is longer is cut.
 * @returns what takes the next chunk, and gives the lines that end in it.
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
