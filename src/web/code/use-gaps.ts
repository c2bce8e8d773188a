import { createContext } from 'preact'
import { useContext, useMemo, useState } from 'preact/hooks'
import { useAction } from '../components/load.tsx'
import { type GappedLines, type OpenedGaps, openGaps } from './diff-gaps.ts'
import type { DiffLine, FileDiff } from './diff-text.ts'

/** Reads the lines of a file of the commit that a diff leads to; undefined where a page cannot. */
export const WholeFileContext = createContext<
  ((path: string) => Promise<readonly string[]>) | undefined
>(undefined)

/** Lines that one step shows. More of them at once make a browser slow. */
const STEP = 50

/** The lines of a file to show, whose gaps the user can open. */
export function useGaps(file: FileDiff) {
  const read = useContext(WholeFileContext)
  const [opened, setOpened] = useState<OpenedGaps>(new Map())
  const [whole, setWhole] = useState<{ file: FileDiff; texts: readonly string[] }>()
  const texts = whole?.file === file ? whole.texts : undefined
  // A new or a deleted file has no lines beside those of the diff.
  const canOpen = read !== undefined && file.change !== 'added' && file.change !== 'removed'
  const shown = useMemo((): GappedLines => {
    const gapped = openGaps(file.lines, opened, texts)
    return canOpen ? gapped : { ...gapped, gaps: new Map(), end: undefined }
  }, [file, opened, texts, canOpen])
  const opening = useAction(async (line: DiffLine | undefined) => {
    if (!line) return
    if (!texts && read) setWhole({ file, texts: await read(file.path) })
    setOpened((before) => new Map(before).set(line, (before.get(line) ?? 0) + STEP))
  })
  return { ...shown, failure: opening.failure, open: opening.run }
}
