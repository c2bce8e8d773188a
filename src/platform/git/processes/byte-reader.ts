const LINE_FEED = 0x0a

/** Reads a stream by lines and by numbers of bytes. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]()
  }

  /**
   * Consumes a line and returns its ASCII text without the line feed. Returns undefined at the end
   * of the stream.
   */
  async line(): Promise<string | undefined> {
    let line = ''
    for (;;) {
      if (this.#rest.length === 0 && !(await this.#more())) return undefined
      const end = this.#rest.indexOf(LINE_FEED)
      line += this.#take(end < 0 ? this.#rest.length : end + 1).toString('latin1')
      if (end >= 0) return line.slice(0, -1)
    }
  }

  /**
   * Consumes a number of bytes and returns at most the first `maxKept` of them. Throws when the
   * stream has fewer.
   */
  async bytes(count: number, maxKept: number): Promise<Buffer> {
    const kept: Buffer[] = []
    let size = 0
    for (let toTake = count; toTake > 0; ) {
      if (this.#rest.length === 0 && !(await this.#more()))
        throw new Error('the stream ended in the middle of an object')
      const part = this.#take(Math.min(toTake, this.#rest.length))
      toTake -= part.length
      if (size < maxKept) kept.push(part.subarray(0, maxKept - size))
      size += part.length
    }
    return Buffer.concat(kept)
  }

  #take(count: number): Buffer {
    const part = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(count)
    return part
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#chunks.next()
    if (!done) this.#rest = value
    return !done
  }
}

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
