import type { Writable } from 'node:stream'

/**
 * Passes bytes to a process at the speed at which the process reads, then ends its input.
 *
 * When the process stops reading, the rest is read and dropped, because Git clients read the
 * response only after they have sent everything. `pipeline` of `node:stream` does not fit: a process
 * that knows the end of its input, such as `git index-pack`, may close the input first, and
 * `pipeline` of Node 20 never ends then.
 *
 * @throws the errors of the bytes.
 */
export async function feed(bytes: AsyncIterable<Buffer>, stdin: Writable): Promise<void> {
  for await (const chunk of bytes) {
    if (!stdin.writable) continue
    stdin.write(chunk)
    if (stdin.writableLength >= MAX_WAITING_BYTES) await roomIn(stdin)
  }
  stdin.end()
}

/**
 * The number of bytes that wait for a process before no more are read. A pipe takes 64 KiB at a time
 * (pipe(7)), and what waits is written together.
 */
const MAX_WAITING_BYTES = 512 * 1024

/** Waits until a process has read what waits, or has closed its input, with an error or without. */
function roomIn(stdin: Writable): Promise<void> {
  return new Promise((resolve) => {
    const goOn = () => {
      stdin.off('drain', goOn).off('close', goOn)
      resolve()
    }
    stdin.on('drain', goOn).on('close', goOn)
  })
}
