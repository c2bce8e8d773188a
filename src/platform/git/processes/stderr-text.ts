import type { Readable } from 'node:stream'

/** Enough for the reason of a failure, even when a client causes many messages. */
const MAX_STDERR_CHARACTERS = 8 * 1024

/** Reads a stream to its end and stores its beginning. */
export function collectStderr(stream: Readable | null): { readonly text: string } {
  const kept = { text: '' }
  stream?.setEncoding('utf8').on('data', (text: string) => {
    if (kept.text.length < MAX_STDERR_CHARACTERS)
      kept.text = (kept.text + text).slice(0, MAX_STDERR_CHARACTERS)
  })
  return kept
}
