import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { textOfPath } from '../core/path-text.ts'
import { readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { cacheOf } from '../repositories/repositories.ts'
import { measureTrees } from './change-sizes.ts'

/** Cached counts of changes: a key and a few numbers each. */
const MAX_DIFFERENCES = 1_000

export type ChangeKind = 'added' | 'deleted' | 'modified' | 'renamed' | 'copied'

/** How a file differs between two trees. */
export interface ChangedFile {
  readonly kind: ChangeKind
  /** Where it is; where it was, if it is deleted. Bytes that are not UTF-8 are U+FFFD. */
  readonly path: string
  /** Where it was, if it was renamed or copied. */
  readonly oldPath: string | undefined
  /** 0 where there was, or is, no file. */
  readonly oldMode: number
  readonly newMode: number
  /** Zeros where there was, or is, no file. */
  readonly oldId: string
  readonly newId: string
  /** Lines; 0 for binary files, and where lines are not counted. */
  readonly additions: number
  readonly deletions: number
  /** Whether its lines were not counted because it has none. */
  readonly isBinary: boolean
}

/** All differences between two trees. */
export interface TreeDiff {
  /** In the order of their paths, those that were asked for. */
  readonly files: readonly ChangedFile[]
  /** How many there are. */
  readonly totalFiles: number
  /** Of all files. */
  readonly additions: number
  readonly deletions: number
}

/** Which of the files of a difference are kept. The others are counted. */
export interface FileWindow {
  /** Path of the file to begin with; without it, the first one. */
  readonly from?: string | undefined
  /** Files left out from there on. */
  readonly offset: number
  readonly limit: number
}

export interface DiffOptions {
  /** Whether to count lines, which costs reading every changed file. */
  readonly lines: boolean
  readonly window: FileWindow
  /** How long Git may take. */
  readonly timeoutMs?: number
}

/**
 * A commit, and the one that it is compared with; undefined for nothing at all, as for a first
 * commit.
 */
export interface CommitStep {
  readonly id: string
  readonly parentId: string | undefined
}

/** What lies between two commits. */
export interface CommitRange {
  /** Id of the commit that it begins behind. */
  readonly base: string
  /** Id of the commit that it leads to. */
  readonly head: string
}

/** How much two trees differ. */
export type ChangeCounts = Pick<TreeDiff, 'totalFiles' | 'additions' | 'deletions'>

/** Kept of a path. */
const MAX_PATH_BYTES = 64 * 1024

/** A path that came from another one has half of its content or more. */
const FIND_RENAMES = '--find-renames=50%'
const FIND_COPIES = '--find-copies=50%'

/** A path has all of another one, which its id says. */
const FIND_SAME = '--find-renames=100%'

/** Read in search of origins: some seconds of work. */
const MAX_BYTES_FOR_ORIGINS = 128 * 1024 * 1024

/**
 * Paths that differ, up to which new files are compared with all others, to see whether they are
 * copies. Beyond, only with those that are gone: a few new files among ten thousand changed ones
 * would have all of these read.
 */
const MAX_PATHS_FOR_COPIES = 1000

/**
 * How two trees differ, by one git-diff-tree(1); files that moved, or were copied, are found by
 * half of their content, as far as `originsIn` has git look.
 *
 * Without lines it costs a walk through the directories that differ, and reading those files that
 * are new or gone.
 *
 * @param from, to ids of trees or commits; `EMPTY_TREE` for nothing.
 * @throws GitError BUSY, TIMEOUT
 */
export async function diffTrees(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
  { lines, window, ...reading }: DiffOptions,
): Promise<TreeDiff> {
  const args = [
    'diff-tree',
    ...formatOf(lines),
    ...(await originsIn(repositories, id, from, to)),
    from,
    to,
  ]
  return readDiff(readGit(repositories, id, args, reading), window)
}

/**
 * The paths at which two trees differ, whatever came from where: a file that moved is gone at one
 * path and new at another.
 *
 * Costs a walk through the directories that differ, and no look into files.
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
  // Rules are patterns of names: quoting a name that is not UTF-8 would take it out of the reach of
  // `*.bin`.
  return readDiff(chunks, window, (path) => path.toString())
}

/** For what nobody asked for by itself. */
const COUNT_TIMEOUT_MS = 5_000

/**
 * How much two trees differ; undefined where that takes too long to find out.
 *
 * Costs reading every changed file. The latest answers are kept, that there is none too: who asked
 * once more would wait as long for as little.
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
 * What has git look for the origins of files in a difference: the same options for all of it, and
 * for each part. By their content, as far as it is bearable to look into that; files that have
 * moved as they are, always.
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
 * What commits change, by one git-diff-tree(1) for all of them. Files that moved are gone at one
 * path and new at another.
 *
 * @returns the differences by id of the commit.
 * @throws GitError BUSY, TIMEOUT
 */
export async function diffCommits(
  repositories: Repositories,
  id: number,
  steps: readonly CommitStep[],
  { lines, window }: DiffOptions,
): Promise<ReadonlyMap<string, TreeDiff>> {
  const diffs = new Map(steps.map((step) => [step.id, new DiffReader(window)]))
  // Parents that are named stand in for the real ones; a first commit has none and is shown because
  // of `--root`.
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
 * Lines added and removed, `-` for binary files, and a path, which is empty where two follow
 * (git-diff(1), --numstat).
 */
const COUNTS = /^([0-9]+|-)\t([0-9]+|-)\t/

/** A record whose paths come. */
interface OpenRecord {
  readonly paths: string[]
  readonly wantedPaths: number
  readonly close: (paths: readonly string[]) => void
}

/**
 * Puts one diff together from the output of `--raw --numstat -z`: all raw records, then counts for
 * most of them.
 */
class DiffReader {
  readonly #pathText: (path: Buffer) => string
  readonly #files: ChangedFile[] = []
  /** Where in `#files` a file is, by its path. */
  readonly #places = new Map<string, number>()
  readonly #window: FileWindow
  /** Files of the window that came, kept or not; undefined before the one that it begins with. */
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

  /** Whether the next token is a path, whatever it looks like. */
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
   * `oldMode newMode oldId newId status`; old and new path follow where the status is R or C, and
   * one path else.
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
    this.#places.set(file.path, this.#files.length)
    this.#files.push(file)
  }

  #takeCounts(token: Buffer): void {
    const counts = COUNTS.exec(token.toString('latin1', 0, MAX_COUNTS_BYTES))
    if (!counts) throw new Error('git diff-tree printed something unknown')
    const [prefix, added, deleted] = counts
    const add = (path: string) => this.#addCounts(path, added ?? '', deleted ?? '')
    if (prefix.length < token.length) add(this.#pathText(token.subarray(prefix.length)))
    else this.#record = { paths: [], wantedPaths: 2, close: ([, path = '']) => add(path) }
  }

  /** By path, since there are no counts for what is the same but for white space. */
  #addCounts(path: string, added: string, deleted: string): void {
    const isBinary = added === '-'
    const additions = isBinary ? 0 : Number(added)
    const deletions = isBinary ? 0 : Number(deleted)
    this.#additions += additions
    this.#deletions += deletions
    const place = this.#places.get(path)
    const file = place === undefined ? undefined : this.#files[place]
    if (file && place !== undefined)
      this.#files[place] = { ...file, additions, deletions, isBinary }
  }
}

const COLON = 0x3a

/** Longer than two counts can be. */
const MAX_COUNTS_BYTES = 64
