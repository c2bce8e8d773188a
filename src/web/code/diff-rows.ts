import type { DiffLine } from './diff-text.ts'

/** A part of a line. */
interface LinePart {
  readonly text: string
  readonly isChanged: boolean
}

/** A line with the words that differ from its counterpart on the other side. */
export interface MarkedLine extends DiffLine {
  /** Absent if the line has no counterpart. */
  readonly parts?: readonly LinePart[]
}

/** Two lines beside each other, or one across both sides. */
export type SplitRow =
  | { readonly whole: MarkedLine }
  | { readonly left: MarkedLine | undefined; readonly right: MarkedLine | undefined }

/** Which changes of white space are no changes. The names are those of the API. */
export type WhiteSpace = '' | 'ignore-eol' | 'ignore-change' | 'ignore-all'

/** Lines that share less than this part of their text have nothing to compare. */
const MIN_SHARED = 0.3

/** Words of longer lines, such as those of minified scripts, are not compared. */
const MAX_MARKED_CHARACTERS = 2000

const NORMAL: Readonly<Record<WhiteSpace, (text: string) => string>> = {
  '': (text) => text,
  'ignore-eol': (text) => text.trimEnd(),
  'ignore-change': (text) => text.replace(/\s+/g, ' ').trimEnd(),
  'ignore-all': (text) => text.replace(/\s+/g, ''),
}

/** Returns the lines to show: without the changes of white space to ignore, with marked words. */
export function linesToShow(lines: readonly DiffLine[], whiteSpace: WhiteSpace): MarkedLine[] {
  return runsOf(lines).flatMap((run) => (Array.isArray(run) ? mark(run, whiteSpace) : [run]))
}

/** Arranges lines in two columns. */
export function sideBySide(lines: readonly MarkedLine[]): SplitRow[] {
  return runsOf(lines).flatMap((run): SplitRow[] => {
    if (!Array.isArray(run))
      return [run.kind === 'same' ? { left: run, right: run } : { whole: run }]
    const { removed, added, notes } = sidesOf(run)
    const length = Math.max(removed.length, added.length)
    return [
      ...Array.from({ length }, (_, i) => ({ left: removed[i], right: added[i] })),
      ...notes.map((whole) => ({ whole })),
    ]
  })
}

/** Groups removed lines with the added lines behind them. Notes belong to the lines before them. */
function runsOf<Line extends DiffLine>(lines: readonly Line[]): (Line | Line[])[] {
  const runs: (Line | Line[])[] = []
  let run: Line[] | undefined
  let last: DiffLine['kind'] | undefined
  for (const line of lines) {
    const { kind } = line
    const isChange = kind === 'removed' || kind === 'added'
    if (isChange && (run === undefined || (kind === 'removed' && last === 'added'))) {
      run = [line]
      runs.push(run)
    } else if (run && (isChange || kind === 'note')) run.push(line)
    else {
      run = undefined
      runs.push(line)
    }
    if (kind !== 'note') last = kind
  }
  return runs
}

function sidesOf<Line extends DiffLine>(run: readonly Line[]) {
  const of = (kind: DiffLine['kind']) => run.filter((line) => line.kind === kind)
  return { removed: of('removed'), added: of('added'), notes: of('note') }
}

function mark(run: readonly DiffLine[], whiteSpace: WhiteSpace): MarkedLine[] {
  const { removed, added, notes } = sidesOf(run)
  if (whiteSpace === '' || notes.length > 0) return markPairs(run)
  const normal = ({ text }: DiffLine) => NORMAL[whiteSpace](text)
  const result: MarkedLine[] = []
  let [before, after] = [0, 0]
  const changesUntil = (first: number, second: number) => {
    result.push(...markPairs([...removed.slice(before, first), ...added.slice(after, second)]))
  }
  for (const [first, second] of matchesOf(removed.map(normal), added.map(normal))) {
    changesUntil(first, second)
    const { text = '', newNumber = 0 } = added[second] ?? {}
    result.push({ kind: 'same', text, oldNumber: removed[first]?.oldNumber ?? 0, newNumber })
    ;[before, after] = [first + 1, second + 1]
  }
  changesUntil(removed.length, added.length)
  return result
}

/** Marks the words of the first removed and the first added line, of the second ones, and so on. */
function markPairs(run: readonly DiffLine[]): MarkedLine[] {
  const { removed, added } = sidesOf(run)
  const parts = new Map<DiffLine, readonly LinePart[]>()
  for (const [i, line] of removed.entries()) {
    const counterpart = added[i]
    const pair = counterpart && changedWords(line.text, counterpart.text)
    if (pair) parts.set(line, pair[0]).set(counterpart, pair[1])
  }
  return run.map((line) => {
    const marked = parts.get(line)
    return marked ? { ...line, parts: marked } : line
  })
}

/** Returns the parts of two lines; undefined if the lines have little in common. */
export function changedWords(
  before: string,
  after: string,
): readonly [LinePart[], LinePart[]] | undefined {
  if (before.length + after.length > MAX_MARKED_CHARACTERS) return undefined
  const words = (text: string) => text.match(/[\p{L}\p{N}_]+|\s+|./gsu) ?? []
  const [first, second] = [words(before), words(after)]
  const matches = matchesOf(first, second)
  const shared = matches.reduce((sum, [one]) => sum + (first[one]?.trim().length ?? 0), 0)
  const length = Math.max(before.replace(/\s/g, '').length, after.replace(/\s/g, '').length)
  if (shared < length * MIN_SHARED) return undefined
  return [
    join(first, new Set(matches.map(([one]) => one))),
    join(second, new Set(matches.map(([, other]) => other))),
  ]
}

function join(words: readonly string[], same: ReadonlySet<number>): LinePart[] {
  const parts: { text: string; isChanged: boolean }[] = []
  for (const [i, text] of words.entries()) {
    const last = parts.at(-1)
    const isChanged = !same.has(i)
    if (last?.isChanged === isChanged) last.text += text
    else parts.push({ text, isChanged })
  }
  return parts
}

/** More comparisons take too long for a page that a person waits for. */
const MAX_COMPARISONS = 250_000

/** Positions of the same element in two lists. */
type Match = readonly [first: number, second: number]

/**
 * Returns the elements that two lists share, in the order of both: the longest common subsequence.
 * Between long lists, only the same elements at the beginning and at the end are found.
 */
export function matchesOf(first: readonly string[], second: readonly string[]): Match[] {
  const shortest = Math.min(first.length, second.length)
  let start = 0
  while (start < shortest && first[start] === second[start]) start++
  let end = 0
  while (end < shortest - start && first.at(-1 - end) === second.at(-1 - end)) end++
  const middle = longest(
    first.slice(start, first.length - end),
    second.slice(start, second.length - end),
  )
  return [
    ...Array.from({ length: start }, (_, i): Match => [i, i]),
    ...middle.map(([one, other]): Match => [one + start, other + start]),
    ...Array.from(
      { length: end },
      (_, i): Match => [first.length - end + i, second.length - end + i],
    ),
  ]
}

/** The usual table: each cell has the length of the common subsequence of what follows. */
function longest(first: readonly string[], second: readonly string[]): Match[] {
  const [rows, columns] = [first.length, second.length]
  if (rows * columns === 0 || rows * columns > MAX_COMPARISONS) return []
  const width = columns + 1
  const lengths = new Uint32Array((rows + 1) * width)
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0
  for (let row = rows - 1; row >= 0; row--)
    for (let column = columns - 1; column >= 0; column--)
      lengths[row * width + column] =
        first[row] === second[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
  const found: Match[] = []
  for (let [row, column] = [0, 0]; row < rows && column < columns; ) {
    if (first[row] === second[column]) found.push([row++, column++])
    else if (at(row + 1, column) >= at(row, column + 1)) row++
    else column++
  }
  return found
}
