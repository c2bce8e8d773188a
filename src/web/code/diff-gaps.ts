import { type DiffLine, hunkStarts } from './diff-text.ts'

/** Unchanged lines between hunks that a diff leaves out, by their numbers in the new file. */
export interface Gap {
  readonly from: number
  /** Undefined if the length of the file is not known. */
  readonly to: number | undefined
}

/** A gap, and how much larger the numbers of the old file are. */
interface PlacedGap extends Gap {
  readonly offset: number
}

/** How many lines the user sees of the gap above a hunk line, or below the last line. */
export type OpenedGaps = ReadonlyMap<DiffLine, number>

/** Lines to show of a file, and what is left out. */
export interface GappedLines {
  readonly lines: readonly DiffLine[]
  /** The gaps above hunk lines that are shown. */
  readonly gaps: ReadonlyMap<DiffLine, Gap>
  /** The gap below the last line; undefined for none. */
  readonly end: Gap | undefined
}

/**
 * Adds opened parts of gaps to the lines of a diff.
 *
 * @param whole the lines of the new file; undefined until they are known.
 */
export function openGaps(
  lines: readonly DiffLine[],
  opened: OpenedGaps,
  whole: readonly string[] | undefined,
): GappedLines {
  const shown: DiffLine[] = []
  const gaps = new Map<DiffLine, Gap>()
  let [lastOld, lastNew] = [0, 0]
  for (const line of lines) {
    const gap = line.kind === 'hunk' ? gapAbove(line, lastNew) : undefined
    if (!gap) shown.push(line)
    else {
      const count = whole ? Math.min(opened.get(line) ?? 0, gap.to - gap.from + 1) : 0
      const rest = { from: gap.from, to: gap.to - count }
      if (rest.from <= rest.to) {
        gaps.set(line, rest)
        shown.push(line)
      }
      shown.push(...linesOf({ ...gap, from: rest.to + 1 }, gap.to, whole))
    }
    lastOld = line.oldNumber ?? lastOld
    lastNew = line.newNumber ?? lastNew
  }
  const last = lines.at(-1)
  if (!last || lastOld === 0 || lastNew === 0) return { lines: shown, gaps, end: undefined }
  const below = { from: lastNew + 1, to: whole?.length, offset: lastOld - lastNew }
  const to = Math.min(lastNew + (opened.get(last) ?? 0), whole?.length ?? 0)
  shown.push(...linesOf(below, to, whole))
  const end = { from: Math.max(to, lastNew) + 1, to: whole?.length }
  return { lines: shown, gaps, end: isEmpty(end) ? undefined : end }
}

function gapAbove(line: DiffLine, lastNew: number) {
  const { oldStart, newStart } = hunkStarts(line.text)
  const gap = { from: lastNew + 1, to: newStart - 1, offset: oldStart - newStart }
  return isEmpty(gap) ? undefined : gap
}

function isEmpty({ from, to }: Gap): boolean {
  return to !== undefined && from > to
}

function linesOf(
  { from, offset }: PlacedGap,
  to: number,
  whole: readonly string[] | undefined,
): DiffLine[] {
  const texts = whole?.slice(from - 1, to) ?? []
  return texts.map((text, i) => ({
    kind: 'same',
    text,
    oldNumber: from + i + offset,
    newNumber: from + i,
  }))
}
