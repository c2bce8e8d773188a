import type { Readable } from 'node:stream'

/** Kept of stderr: enough for the reason, whatever a client makes Git complain about. */
const MAX_STDERR_CHARACTERS = 8 * 1024

/** Reads a stream to its end, and keeps the beginning of it. */
export function keepBeginning(stream: Readable | null): { readonly text: string } {
  const kept = { text: '' }
  stream?.setEncoding('utf8').on('data', (text: string) => {
    if (kept.text.length < MAX_STDERR_CHARACTERS)
      kept.text = (kept.text + text).slice(0, MAX_STDERR_CHARACTERS)
  })
  return kept
}
