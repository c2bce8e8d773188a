/** What is not indented says nothing, and the first lines are like the others. */
const MAX_LINES = 500

/** What a file without indented lines gets. */
const USUAL = '  '

const MAX_SPACES = 8

/**
 * Returns what a text indents its lines by: a tab, or some spaces. Of spaces, the usual difference
 * between a line and the line before counts, since all widths of a deep block look alike.
 */
export function indentationOf(text: string): string {
  const counts = new Map<string, number>()
  const count = (unit: string) => counts.set(unit, (counts.get(unit) ?? 0) + 1)
  let before = 0
  for (const line of text.split('\n', MAX_LINES)) {
    // Lines of a comment block begin with a space and a star.
    if (line.trim() === '' || /^ +\*/.test(line)) continue
    if (line.startsWith('\t')) count('\t')
    const width = line.startsWith('\t') ? 0 : line.length - line.trimStart().length
    const step = width - before
    if (step > 1 && step <= MAX_SPACES) count(' '.repeat(step))
    before = width
  }
  const [most] = [...counts].sort(([, one], [, other]) => other - one)
  return most?.[0] ?? USUAL
}
