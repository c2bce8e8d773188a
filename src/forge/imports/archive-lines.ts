/** The longest line: a pull request review with some hundred comments of the greatest length. */
const MAX_LINE_BYTES = 16 * 1024 * 1024

const LINE_FEED = 10

/**
 * Yields the lines of a list, without empty ones. In place of a line that is too long, yields undefined
 * and ends.
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<string | undefined, void, undefined> {
  let parts: Buffer[] = []
  let bytes = 0
  const take = () => {
    const line = Buffer.concat(parts).toString('utf8').trim()
    parts = []
    bytes = 0
    return line
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      parts.push(chunk.subarray(start, end))
      start = end + 1
      const line = take()
      if (line !== '') yield line
    }
    parts.push(chunk.subarray(start))
    bytes += chunk.length - start
    if (bytes > MAX_LINE_BYTES) return yield undefined
  }
  const last = take()
  if (last !== '') yield last
}
