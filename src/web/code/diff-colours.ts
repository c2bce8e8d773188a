import { useEffect, useState } from 'preact/hooks'
import type { DiffLine, FileDiff } from './diff-text.ts'
import type { Highlighter } from './highlight.ts'
import { passagesOf, type Run, textOfRuns } from './runs.ts'
import type { LoadHighlighter } from './use-highlighter.ts'

/** Longer changes have no colours, since a browser takes more than a moment to draw them. */
const MAX_LINES = 2000
const MAX_CHARACTERS = 200_000

/**
 * Finds the colours of the changes of a file. Until they are there, the changes are plain.
 *
 * @param isWanted whether the reader has come near. Colours of thousands of files take minutes.
 */
export function useColours(
  { path, lines }: FileDiff,
  isWanted: boolean,
  load: LoadHighlighter,
): DiffColours | undefined {
  const [colours, setColours] = useState<DiffColours>()
  useEffect(() => {
    setColours(undefined)
    const characters = lines.reduce((sum, { text }) => sum + text.length, 0)
    if (!isWanted || lines.length > MAX_LINES || characters > MAX_CHARACTERS) return
    const ended = new AbortController()
    const colour = async () => {
      const found = await coloursOf(await load(), lines, path, ended.signal)
      if (!ended.signal.aborted) setColours(found)
    }
    // The plain text stays.
    colour().catch(() => undefined)
    return () => ended.abort()
  }, [path, lines, isWanted, load])
  return colours
}

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
async function coloursOf(
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
