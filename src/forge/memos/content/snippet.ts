/** The maximum length of a snippet in code points, without ` ...`. */
const MAX_SNIPPET_LENGTH = 64

/**
 * Returns the beginning of a plain text. Each run of white space becomes one space. A text of more
 * than 64 code points is cut at the last space among them, or after them if there is none, and ends
 * in ` ...`.
 */
export function snippetOf(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  // A code point has at most two code units, so the rest of a long text need not be split.
  const start = [...line.slice(0, 2 * (MAX_SNIPPET_LENGTH + 1))]
  if (start.length <= MAX_SNIPPET_LENGTH) return line
  const cut = start.slice(0, MAX_SNIPPET_LENGTH)
  const blank = cut.lastIndexOf(' ')
  return `${cut.slice(0, blank < 0 ? undefined : blank).join('')} ...`
}
