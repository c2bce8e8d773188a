import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'
import { measureTrees } from './change-sizes.ts'
import { DiffReader, type FileWindow, type TreeDiff } from './diff-reader.ts'
import { type DiffRecords, diffRecords, MAX_PATH_BYTES } from './diff-records.ts'

/** Memory of all cached counts of changes, and of one. */
const MAX_CHANGES_BYTES = 1024 ** 2
const COUNTS_BYTES = 100

export interface DiffOptions {
  /** Whether to count lines, for which Git reads every changed file. */
  readonly lines: boolean
  readonly window: FileWindow
  readonly timeoutMs?: number
}

/** A commit and the commit to compare it with. */
export interface CommitStep {
  readonly id: string
  /** Undefined to compare with the empty tree, as for a first commit. */
  readonly parentId: string | undefined
}

/** A range of commits. */
export interface CommitRange {
  /** Id of the commit before the range. */
  readonly base: string
  /** Id of the last commit of the range. */
  readonly head: string
}

/** Numbers of changed files and lines. */
export type ChangeCounts = Pick<TreeDiff, 'totalFiles' | 'additions' | 'deletions'>

/** Finds moved and copied files that share at least half of their content. */
const FIND_RENAMES = '--find-renames=50%'
const FIND_COPIES = '--find-copies=50%'

/** Finds moved files with the same content by their ids. */
const FIND_SAME = '--find-renames=100%'

/** Content that Git reads to find origins, in a few seconds. */
const MAX_BYTES_FOR_ORIGINS = 128 * 1024 * 1024

/**
 * Changed paths up to which Git searches for copies. With more paths, Git compares added files with
 * deleted ones only, because a search for copies reads all changed files.
 */
const MAX_PATHS_FOR_COPIES = 1000

/**
 * Compares two trees by one git-diff-tree(1). Moved and copied files are found with the options of
 * `originsIn`.
 *
 * The cost without lines is a walk through the changed directories and a read of the added and
 * deleted files. Another page of the same difference is usually in memory.
 *
 * @param from, to ids of trees or commits, or `EMPTY_TREE`.
 * @throws GitError BUSY, TIMEOUT
 */
export async function diffTrees(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
  { lines, window, ...reading }: DiffOptions,
): Promise<TreeDiff> {
  const run = async () => {
    const origins = await originsIn(repositories, id, from, to)
    const args = ['diff-tree', ...formatOf(lines), ...origins, from, to]
    return readGit(repositories, id, args, reading)
  }
  if (lines) return readDiff(await run(), window)
  const { records, chunks } = await diffRecords(repositories, id, { from, to }, run)
  return records ? pageOf(records, window) : readDiff(chunks, window)
}

/**
 * Returns the paths at which two trees differ. A moved file is a deleted and an added one.
 *
 * The cost is a walk through the changed directories. Files are not read.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function diffPaths(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
  window: FileWindow,
): Promise<TreeDiff> {
  const chunks = readGit(repositories, id, [
    'diff-tree',
    ...formatOf(false),
    '--no-renames',
    from,
    to,
  ])
  // Rules match names by patterns. A quoted name would not match `*.bin`, so names are not quoted.
  return readDiff(chunks, window, (path) => path.toString())
}

/** Counts are an addition to an answer, which must not be late. */
const COUNT_TIMEOUT_MS = 5_000

/**
 * Counts the changes between two trees. Returns undefined when counting takes too long.
 *
 * Git reads every changed file. Results are cached, including undefined, since another attempt
 * would take as long.
 *
 * @throws GitError BUSY
 */
export function countChanges(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
): Promise<ChangeCounts | undefined> {
  const counts = resultsOf<ChangeCounts | undefined>(
    repositories,
    'change counts',
    MAX_CHANGES_BYTES,
    () => COUNTS_BYTES,
  )
  return counts.get(id, `${from} ${to}`, async () => {
    const window = { offset: 0, limit: 0 }
    const options = { lines: true, window, timeoutMs: COUNT_TIMEOUT_MS }
    try {
      const { totalFiles, additions, deletions } = await diffTrees(
        repositories,
        id,
        from,
        to,
        options,
      )
      return { totalFiles, additions, deletions }
    } catch (error) {
      if (error instanceof GitError && error.kind === 'TIMEOUT') return undefined
      throw error
    }
  })
}

/**
 * Returns the options by which Git finds moved and copied files between two trees. The options are
 * the same for the whole difference and for its parts. When there is too much content to compare,
 * Git finds only files that have moved unchanged.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function originsIn(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
): Promise<string[]> {
  const { paths, bytes, movableBytes } = await measureTrees(repositories, id, from, to)
  if (paths <= MAX_PATHS_FOR_COPIES && bytes <= MAX_BYTES_FOR_ORIGINS)
    return [FIND_RENAMES, FIND_COPIES]
  return [movableBytes <= MAX_BYTES_FOR_ORIGINS ? FIND_RENAMES : FIND_SAME]
}

/**
 * Reads the changes of commits by id, from one git-diff-tree(1). `diffCommits` caches them.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function readCommitDiffs(
  repositories: Repositories,
  id: number,
  steps: readonly CommitStep[],
  { lines, window }: DiffOptions,
): Promise<ReadonlyMap<string, TreeDiff>> {
  const diffs = new Map(steps.map((step) => [step.id, new DiffReader(window)]))
  // The named parents replace the real ones. `--root` shows a commit without a parent.
  const input = steps
    .map((step) => `${step.id}${step.parentId === undefined ? '' : ` ${step.parentId}`}\n`)
    .join('')
  const args = ['diff-tree', '--stdin', '--root', '--always', ...formatOf(lines), '--no-renames']
  let diff: DiffReader | undefined
  for await (const token of splitAtZeros(
    readGit(repositories, id, args, { input }),
    MAX_PATH_BYTES,
  )) {
    const text = token.length === 40 && !diff?.expectsPath ? token.toString('latin1') : ''
    if (isObjectId(text)) diff = diffs.get(text)
    else diff?.take(token)
  }
  return new Map([...diffs].map(([commitId, reader]) => [commitId, reader.result()]))
}

function formatOf(lines: boolean): string[] {
  return ['-r', '-z', '--no-abbrev', '--raw', ...(lines ? ['--numstat'] : [])]
}

function pageOf(records: DiffRecords, { from, offset, limit }: FileWindow): TreeDiff {
  const start = from === undefined ? 0 : indexOfPath(records, from)
  const diff = new DiffReader({ offset: 0, limit })
  if (start !== undefined)
    for (const token of records.tokens(start + offset, start + offset + limit)) diff.take(token)
  return { ...diff.result(), totalFiles: records.count }
}

/** Returns the index of the file with a path. */
function indexOfPath(records: DiffRecords, path: string): number | undefined {
  const window = { from: path, offset: 0, limit: records.count }
  const diff = new DiffReader(window)
  for (const token of records.tokens(0, records.count)) diff.take(token)
  const found = diff.result().files.length
  return found === 0 ? undefined : records.count - found
}

async function readDiff(
  chunks: AsyncIterable<Buffer>,
  window: FileWindow,
  pathText?: (path: Buffer) => string,
): Promise<TreeDiff> {
  const diff = new DiffReader(window, pathText)
  for await (const token of splitAtZeros(chunks, MAX_PATH_BYTES)) diff.take(token)
  return diff.result()
}
