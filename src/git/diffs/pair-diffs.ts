import { createHash } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { inspectObjects } from '../objects/objects.ts'
import { lineSplitter } from '../processes/line-splitter.ts'
import { MAX_TEXT_BYTES, readGit } from '../repositories/reading.ts'
import { type Repositories, scratchPath } from '../repositories/repositories.ts'
import type { ChangedFile } from './diff.ts'
import { isRegular } from './large-files.ts'

/** A file before and after, wherever it was and is. */
export type FilePair = Pick<ChangedFile, 'oldMode' | 'oldId' | 'newMode' | 'newId'>

/** What of white space makes no difference (git-diff(1), -w, -b and --ignore-space-at-eol). */
export type IgnoredWhitespace = 'all' | 'change' | 'eol'

export interface PairDiffOptions {
  readonly ignoredWhitespace?: IgnoredWhitespace | undefined
  /** Unchanged lines around those that are changed. */
  readonly contextLines: number
  /** Kept of a line. */
  readonly maxLineBytes: number
}

/**
 * Takes the lines of the hunks of a pair: headers, which begin with `@@`, and lines that begin with
 * a space, `+`, `-` or `\` (git-diff(1), "Generating patch text").
 *
 * @param pair its index.
 * @returns whether to go on.
 */
export type HunkVisitor = (pair: number, line: Buffer) => boolean

/** Unchanged lines around those that are changed, in what people see. */
export const CONTEXT_LINES = 3

const WHITESPACE_OPTIONS: Readonly<Record<IgnoredWhitespace, string>> = {
  all: '--ignore-all-space',
  change: '--ignore-space-change',
  eol: '--ignore-space-at-eol',
}

/** First characters of the header of a hunk, and of its lines. */
export const AT = 0x40
export const PLUS = 0x2b
export const MINUS = 0x2d
export const SPACE = 0x20
const LINE_SIGNS: ReadonlySet<number> = new Set([PLUS, MINUS, SPACE])

const LETTER_D = 0x64

/**
 * Begins what there is about a pair, once or, where it is of another type afterwards, twice. Names
 * are ours.
 */
const PAIR_HEADER = /^diff --git a\/([0-9]+) /

/** Such a header is read to its end. */
const MIN_LINE_BYTES = 128

/** A name for each pair, such that the order of names is that of pairs. */
const NAME_DIGITS = 6

/**
 * Compares pairs of files by one git-diff-tree(1). Binary files, those of more than
 * `MAX_TEXT_BYTES`, and those that differ in nothing but their modes, have no hunks.
 *
 * It compares these files and no others: two trees of nothing else are made for it, in a folder
 * that is gone afterwards. So what came from where in a larger difference stays as it was found
 * there, and costs nothing once more.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function diffPairs(
  repositories: Repositories,
  id: number,
  pairs: readonly FilePair[],
  { ignoredWhitespace, contextLines, maxLineBytes }: PairDiffOptions,
  visit: HunkVisitor,
): Promise<void> {
  const large = await largePairs(repositories, id, pairs)
  if (large.size === pairs.length) return
  const quarantine = scratchPath(repositories)
  try {
    const before = await storeTree(quarantine, pairs, large, ({ oldMode, oldId }) => ({
      mode: oldMode,
      id: oldId,
    }))
    const after = await storeTree(quarantine, pairs, large, ({ newMode, newId }) => ({
      mode: newMode,
      id: newId,
    }))
    const whitespace =
      ignoredWhitespace === undefined ? [] : [WHITESPACE_OPTIONS[ignoredWhitespace]]
    const format = [
      '--patch',
      `--unified=${contextLines}`,
      '--no-renames',
      '--no-ext-diff',
      '--no-textconv',
    ]
    const args = ['diff-tree', ...format, ...whitespace, before, after]
    await visitHunks(readGit(repositories, id, args, { quarantine }), maxLineBytes, visit)
  } finally {
    await rm(quarantine, { recursive: true, force: true })
  }
}

/**
 * Those of some pairs that git must not see: it reads a file that is new, gone or of another type
 * as a whole, to say only that it is binary (`builtin_diff` in diff.c of Git 2.39). Two regular
 * files it compares by their sizes first.
 */
async function largePairs(
  repositories: Repositories,
  id: number,
  pairs: readonly FilePair[],
): Promise<ReadonlySet<FilePair>> {
  const suspects = pairs.filter(
    ({ oldMode, newMode }) => !(isRegular(oldMode) && isRegular(newMode)),
  )
  const ids = suspects.flatMap(({ oldMode, oldId, newMode, newId }) => [
    ...(oldMode === 0 ? [] : [oldId]),
    ...(newMode === 0 ? [] : [newId]),
  ])
  const objects = await inspectObjects(repositories, id, [...new Set(ids)])
  const isLarge = (objectId: string) => (objects.get(objectId)?.bytes ?? 0) > MAX_TEXT_BYTES
  return new Set(suspects.filter(({ oldId, newId }) => isLarge(oldId) || isLarge(newId)))
}

async function visitHunks(
  chunks: AsyncIterable<Buffer>,
  maxLineBytes: number,
  visit: HunkVisitor,
): Promise<void> {
  const split = lineSplitter(Math.max(maxLineBytes, MIN_LINE_BYTES))
  let pair = -1
  let isInHunk = false
  for await (const chunk of chunks) {
    for (const line of split(chunk)) {
      // Lines of hunks have other first characters.
      if (line[0] === LETTER_D && line.toString('latin1', 0, 4) === 'diff') {
        pair = Number(PAIR_HEADER.exec(line.toString('latin1'))?.[1])
        isInHunk = false
        continue
      }
      isInHunk ||= line[0] === AT
      if (isInHunk && !visit(pair, line)) return
    }
  }
}

/** Lines of a file that differ. */
export interface LineCounts {
  readonly additions: number
  readonly deletions: number
  /** Whether any line differs, counted or not. */
  readonly differs: boolean
}

/**
 * Counts the lines in which pairs of files differ.
 *
 * @param maxLines of the hunks of a pair, unchanged ones too; what comes behind them is not
 *   counted.
 * @throws GitError BUSY, TIMEOUT
 */
export async function countLines(
  repositories: Repositories,
  id: number,
  pairs: readonly FilePair[],
  {
    ignoredWhitespace,
    maxLines,
  }: { readonly ignoredWhitespace?: IgnoredWhitespace | undefined; readonly maxLines: number },
): Promise<LineCounts[]> {
  const counts = pairs.map(() => ({ lines: 0, additions: 0, deletions: 0, differs: false }))
  const options = { ignoredWhitespace, contextLines: CONTEXT_LINES, maxLineBytes: 1 }
  await diffPairs(repositories, id, pairs, options, (pair, line) => {
    const count = counts[pair]
    const [sign = 0] = line
    if (count) count.differs = true
    if (!count || count.lines >= maxLines || !LINE_SIGNS.has(sign)) return true
    count.lines += 1
    if (sign === PLUS) count.additions += 1
    if (sign === MINUS) count.deletions += 1
    return true
  })
  return counts.map(({ additions, deletions, differs }) => ({ additions, deletions, differs }))
}

/**
 * Stores a tree of one side of some pairs as a loose object, without those that are too large, and
 * returns its id.
 */
async function storeTree(
  folder: string,
  pairs: readonly FilePair[],
  large: ReadonlySet<FilePair>,
  sideOf: (pair: FilePair) => { readonly mode: number; readonly id: string },
): Promise<string> {
  const entries = pairs.flatMap((pair, index) => {
    const { mode, id } = sideOf(pair)
    if (mode === 0 || large.has(pair)) return []
    const name = String(index).padStart(NAME_DIGITS, '0')
    return [Buffer.from(`${mode.toString(8)} ${name}\0`), Buffer.from(id, 'hex')]
  })
  const content = Buffer.concat(entries)
  const object = Buffer.concat([Buffer.from(`tree ${content.length}\0`), content])
  const id = createHash('sha1').update(object).digest('hex')
  await mkdir(join(folder, id.slice(0, 2)), { recursive: true })
  await writeFile(join(folder, id.slice(0, 2), id.slice(2)), deflateSync(object))
  return id
}
