/** In code points. */
const MAX_SNIPPET_LENGTH = 64

/**
 * The beginning of a plain text: each run of white space becomes one blank, and what is longer than
 * 64 code points ends at the last blank among them, or after them if there is none, and in ` ...`.
 */
export function snippetOf(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  // A code point is at most two code units, so that the long rest of a text is never taken apart.
  const start = [...line.slice(0, 2 * (MAX_SNIPPET_LENGTH + 1))]
  if (start.length <= MAX_SNIPPET_LENGTH) return line
  const cut = start.slice(0, MAX_SNIPPET_LENGTH)
  const blank = cut.lastIndexOf(' ')
  return `${cut.slice(0, blank < 0 ? undefined : blank).join('')} ...`
}
