import type { DiffLine } from './diff.ts'
import { passagesOf } from './diff-passages.ts'
import type { Highlighter } from './highlight.ts'
import { type Run, textOfRuns } from './runs.ts'

/** The colours of the lines of a diff. */
export interface DiffColours {
  /** Returns the parts of a line; undefined for a line without colours. */
  of(line: DiffLine): readonly Run[] | undefined
}

/**
 * Finds the colours of the changes of a file; undefined if there are none.
 *
 * A hunk is a part of a file, and the highlighter does not know what is before. So lines in the
 * middle of a comment or a text of several lines can have other colours than in the whole file.
 */
export async function coloursOf(
  highlighter: Highlighter,
  lines: readonly DiffLine[],
  path: string,
  signal: AbortSignal,
): Promise<DiffColours | undefined> {
  const passages = passagesOf(lines)
  const texts = passages.map((passage) => passage.map(({ text }) => text).join('\n'))
  const coloured = await highlighter.highlight(texts, path, signal)
  if (!coloured) return undefined
  const byLine = new Map<string, readonly Run[]>()
  for (const [i, passage] of passages.entries())
    for (const [j, line] of passage.entries()) byLine.set(keyOf(line), coloured[i]?.[j] ?? [])
  return {
    of(line) {
      const runs = byLine.get(keyOf(line))
      return runs && textOfRuns(runs) === line.text ? runs : undefined
    },
  }
}

function keyOf({ kind, oldNumber, newNumber }: DiffLine): string {
  return kind === 'removed' ? `old ${oldNumber}` : `new ${newNumber}`
}
