import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { textOfPath } from '../core/path-text.ts'
import { readGit, splitAtZeros } from '../repositories/reading.ts'
import { cacheOf, type Repositories } from '../repositories/repositories.ts'
import { measureTrees } from './change-sizes.ts'
import { type DiffRecords, diffRecords, MAX_PATH_BYTES } from './diff-records.ts'

/** Cached counts of changes: a key and a few numbers each. */
const MAX_DIFFERENCES = 1_000

export type ChangeKind = 'added' | 'deleted' | 'modified' | 'renamed' | 'copied'

/** A file that differs between two trees. */
export interface ChangedFile {
  readonly kind: ChangeKind
  /** New path, or the old path of a deleted file. Invalid UTF-8 becomes U+FFFD. */
  readonly path: string
  /** Old path of a renamed or copied file. */
  readonly oldPath: string | undefined
  /** 0 when there was, or is, no file. */
  readonly oldMode: number
  readonly newMode: number
  /** Zeros when there was, or is, no file. */
  readonly oldId: string
  readonly newId: string
  /** Number of lines. 0 for binary files and when lines are not counted. */
  readonly additions: number
  readonly deletions: number
  /** Whether lines were not counted because the file is binary. */
  readonly isBinary: boolean
}

/** Two versions of a file, which may have different paths. */
export type FilePair = Pick<ChangedFile, 'oldMode' | 'oldId' | 'newMode' | 'newId'>

/** The differences between two trees. */
export interface TreeDiff {
  /** The files of the window, in the order of their paths. */
  readonly files: readonly ChangedFile[]
  /** Number of all changed files. */
  readonly totalFiles: number
  /** Number of lines in all files. */
  readonly additions: number
  readonly deletions: number
}

/** The part of the changed files that is returned. The other files are only counted. */
export interface FileWindow {
  /** Path of the file at which the window starts. Default: the first file. */
  readonly from?: string | undefined
  /** Number of files to skip from the start. */
  readonly offset: number
  readonly limit: number
}

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
  return cacheOf<ChangeCounts | undefined>(repositories, 'change counts', MAX_DIFFERENCES).get(
    `${id} ${from} ${to}`,
    async () => {
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
    },
  )
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

const KINDS: Readonly<Record<string, ChangeKind>> = {
  A: 'added',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
}

/**
 * Numbers of added and deleted lines, `-` for binary files, before a path. When two paths follow,
 * the path is empty (git-diff(1), --numstat).
 */
const COUNTS = /^([0-9]+|-)\t([0-9]+|-)\t/

/** A record whose paths follow. */
interface OpenRecord {
  readonly paths: string[]
  readonly wantedPaths: number
  readonly close: (paths: readonly string[]) => void
}

/**
 * Parses the output of `--raw --numstat -z`: all raw records, then counts for most of them.
 */
class DiffReader {
  readonly #pathText: (path: Buffer) => string
  readonly #files: ChangedFile[] = []
  /** Indexes in `#files` by path. */
  readonly #indexes = new Map<string, number>()
  readonly #window: FileWindow
  /** Number of files since the start of the window. Undefined before the start. */
  #reached: number | undefined
  #record: OpenRecord | undefined
  #totalFiles = 0
  #additions = 0
  #deletions = 0

  constructor(window: FileWindow, pathText = textOfPath) {
    this.#window = window
    this.#pathText = pathText
    this.#reached = window.from === undefined ? 0 : undefined
  }

  /** Whether the next token is a path. */
  get expectsPath(): boolean {
    return this.#record !== undefined
  }

  take(token: Buffer): void {
    if (this.#record) this.#takePath(this.#record, this.#pathText(token))
    else if (token[0] === COLON) this.#takeHeader(token.toString('latin1', 1))
    else this.#takeCounts(token)
  }

  result(): TreeDiff {
    return {
      files: this.#files,
      totalFiles: this.#totalFiles,
      additions: this.#additions,
      deletions: this.#deletions,
    }
  }

  #takePath({ paths, wantedPaths, close }: OpenRecord, path: string): void {
    paths.push(path)
    if (paths.length < wantedPaths) return
    this.#record = undefined
    close(paths)
  }

  /**
   * Parses `oldMode newMode oldId newId status`. Two paths follow after status R and C, otherwise
   * one.
   */
  #takeHeader(text: string): void {
    const [oldMode = '', newMode = '', oldId = '', newId = '', status = ''] = text.split(' ')
    const kind = KINDS[status.charAt(0)] ?? 'modified'
    this.#record = {
      paths: [],
      wantedPaths: kind === 'renamed' || kind === 'copied' ? 2 : 1,
      close: (paths) =>
        this.#addFile({
          kind,
          path: paths.at(-1) ?? '',
          oldPath: paths.length > 1 ? paths[0] : undefined,
          oldMode: Number.parseInt(oldMode, 8),
          newMode: Number.parseInt(newMode, 8),
          oldId,
          newId,
          additions: 0,
          deletions: 0,
          isBinary: false,
        }),
    }
  }

  #addFile(file: ChangedFile): void {
    const { from, offset, limit } = this.#window
    this.#totalFiles += 1
    if (file.path === from) this.#reached ??= 0
    if (this.#reached === undefined) return
    this.#reached += 1
    if (this.#reached <= offset || this.#files.length >= limit) return
    this.#indexes.set(file.path, this.#files.length)
    this.#files.push(file)
  }

  #takeCounts(token: Buffer): void {
    const counts = COUNTS.exec(token.toString('latin1', 0, MAX_COUNTS_BYTES))
    if (!counts) throw new Error('unexpected output of git diff-tree')
    const [prefix, added, deleted] = counts
    const add = (path: string) => this.#addCounts(path, added ?? '', deleted ?? '')
    if (prefix.length < token.length) add(this.#pathText(token.subarray(prefix.length)))
    else this.#record = { paths: [], wantedPaths: 2, close: ([, path = '']) => add(path) }
  }

  /** Adds counts to a file by its path. Files that differ only in white space have no counts. */
  #addCounts(path: string, added: string, deleted: string): void {
    const isBinary = added === '-'
    const additions = isBinary ? 0 : Number(added)
    const deletions = isBinary ? 0 : Number(deleted)
    this.#additions += additions
    this.#deletions += deletions
    const index = this.#indexes.get(path)
    const file = index === undefined ? undefined : this.#files[index]
    if (file && index !== undefined)
      this.#files[index] = { ...file, additions, deletions, isBinary }
  }
}

const COLON = 0x3a

/** Longer than two counts. */
const MAX_COUNTS_BYTES = 64
