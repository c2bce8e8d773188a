import { rm } from 'node:fs/promises'
import { storeLooseObject } from '../objects/loose-objects.ts'
import { objectCacheOf } from '../objects/object-cache.ts'
import { ObjectPresence } from '../objects/object-presence.ts'
import { lineSplitter } from '../processes/byte-reader.ts'
import { readGit } from '../repositories/reading.ts'
import { type Repositories, scratchPath } from '../repositories/repositories.ts'
import type { FilePair } from './diff-reader.ts'
import { largePairs } from './large-files.ts'

/** White space to ignore (git-diff(1), -w, -b and --ignore-space-at-eol). */
export type IgnoredWhitespace = 'all' | 'change' | 'eol'

interface PairDiffOptions {
  readonly ignoredWhitespace?: IgnoredWhitespace | undefined
  /** Number of unchanged lines around changed ones. */
  readonly contextLines: number
  /** Length to which lines are truncated. */
  readonly maxLineBytes: number
}

/**
 * Takes a line of a hunk: a header, which starts with `@@`, or a line that starts with a space,
 * `+`, `-` or `\` (git-diff(1), "Generating patch text").
 *
 * @param pair index of the pair.
 * @returns whether to continue.
 */
type HunkVisitor = (pair: number, line: Buffer) => boolean

/** Number of unchanged lines around changed ones in diffs for users. */
export const CONTEXT_LINES = 3

const WHITESPACE_OPTIONS: Readonly<Record<IgnoredWhitespace, string>> = {
  all: '--ignore-all-space',
  change: '--ignore-space-change',
  eol: '--ignore-space-at-eol',
}

/** First characters of hunk headers and of lines. */
export const AT = 0x40
export const PLUS = 0x2b
export const MINUS = 0x2d
export const SPACE = 0x20
const LINE_SIGNS: ReadonlySet<number> = new Set([PLUS, MINUS, SPACE])

const LETTER_D = 0x64

/** Starts the diff of a pair. A pair whose type changes has two. The names are of `storeTree`. */
const PAIR_HEADER = /^diff --git a\/([0-9]+) /

/** Enough for such a header. */
const MIN_LINE_BYTES = 128

/** Fixed length of names, so their order is that of the pairs. */
const NAME_DIGITS = 6

/**
 * Compares pairs of files by one git-diff-tree(1). Binary files, files of more than
 * `MAX_TEXT_BYTES`, and files that differ only in their modes have no hunks.
 *
 * Git compares two temporary trees that contain only these files. The pairs of moved and copied
 * files are therefore those of the caller, and Git does not search for them again.
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
  const large = new Set<FilePair>(await largePairs(repositories, id, pairs))
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
      // No line of a hunk starts with this letter.
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

/** Numbers of changed lines of a file. */
interface LineCounts {
  readonly additions: number
  readonly deletions: number
  /** Whether any line differs, even beyond the limit of counted lines. */
  readonly differs: boolean
}

interface CountOptions {
  readonly ignoredWhitespace?: IgnoredWhitespace | undefined
  /**
   * Lines of the hunks of a pair, including unchanged ones, up to which changes are counted.
   */
  readonly maxLines: number
}

/** Memory of cached counts, and of the counts of one pair. */
const MAX_COUNTS_BYTES = 8 * 1024 ** 2
const COUNTS_BYTES = 100

/**
 * Counts the changed lines of pairs of files. The counts of a pair are cached.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function countLines(
  repositories: Repositories,
  id: number,
  pairs: readonly FilePair[],
  options: CountOptions,
): Promise<LineCounts[]> {
  const cache = objectCacheOf<LineCounts>(
    repositories,
    'line counts',
    MAX_COUNTS_BYTES,
    () => COUNTS_BYTES,
  )
  const presence = new ObjectPresence(repositories, id)
  const keyed = pairs.map((pair) => ({ pair, ...cacheKeyOf(pair, options) }))
  const known = keyed.map(({ objectId, variant }) => cache.get(id, objectId, presence, variant))
  const unknown = keyed.filter((_, index) => known[index] === undefined)
  const evidence = unknown.map(({ objectId }) => presence.evidenceOf(objectId))
  const pairsToRead = unknown.map(({ pair }) => pair)
  const counted = await readCounts(repositories, id, pairsToRead, options)
  for (const [index, { objectId, variant }] of unknown.entries()) {
    const [counts, before] = [counted[index], evidence[index]]
    if (counts && before) cache.set(id, objectId, counts, { before, presence, variant })
  }
  const read = counted.values()
  return known.map((counts) => counts ?? read.next().value ?? NO_LINES)
}

const NO_LINES: LineCounts = { additions: 0, deletions: 0, differs: false }

function cacheKeyOf(
  { oldMode, oldId, newMode, newId }: FilePair,
  { ignoredWhitespace, maxLines }: CountOptions,
): { readonly objectId: string; readonly variant: string } {
  const [objectId, other] = newMode === 0 ? [oldId, newId] : [newId, oldId]
  return {
    objectId,
    variant: ` ${oldMode} ${newMode} ${other} ${ignoredWhitespace ?? 'none'} ${maxLines}`,
  }
}

async function readCounts(
  repositories: Repositories,
  id: number,
  pairs: readonly FilePair[],
  { ignoredWhitespace, maxLines }: CountOptions,
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

/** Stores a tree of one side of pairs, without large files, and returns the id of the tree. */
function storeTree(
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
  return storeLooseObject(folder, 'tree', Buffer.concat(entries))
}
