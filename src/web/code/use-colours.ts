import { useEffect, useState } from 'preact/hooks'
import type { FileDiff } from './diff.ts'
import { coloursOf, type DiffColours } from './diff-colours.ts'
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
