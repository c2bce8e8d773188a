import { once } from 'node:events'
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
    if (stdin.writable && !stdin.write(chunk)) await roomIn(stdin)
  }
  stdin.end()
}

/** Waits until a process reads on or has closed its input, with an error or without. */
async function roomIn(stdin: Writable): Promise<void> {
  const waiting = new AbortController()
  const { signal } = waiting
  const first = (name: string) => once(stdin, name, { signal }).catch(() => {})
  await Promise.race([first('drain'), first('close')])
  waiting.abort()
}
