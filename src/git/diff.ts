import { isObjectId } from './objects.ts'
import { readGit, splitAtZeros, streamGit } from './reading.ts'
import type { Repositories } from './repositories.ts'

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
  /** In the order of their paths, as many as were asked for. */
  readonly files: readonly ChangedFile[]
  /** How many there are. */
  readonly totalFiles: number
  /** Of all files. */
  readonly additions: number
  readonly deletions: number
}

/** What of white space makes no difference (git-diff(1), -w, -b and --ignore-space-at-eol). */
export type IgnoredWhitespace = 'all' | 'change' | 'eol'

export interface DiffOptions {
  /** Whether to count lines, which costs reading every changed file. */
  readonly lines: boolean
  /** Whether to look for files that moved, by half of their content. */
  readonly renames: boolean
  readonly ignoredWhitespace?: IgnoredWhitespace
  /** Files kept; the others are counted. */
  readonly maxFiles: number
}

/** A commit, and the one that it is compared with; undefined for nothing at all, as for a first commit. */
export interface CommitStep {
  readonly id: string
  readonly parentId: string | undefined
}

/** The tree without entries, which every git knows without having it. */
export const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/** Kept of a path. */
const MAX_PATH_BYTES = 64 * 1024

const WHITESPACE_OPTIONS: Readonly<Record<IgnoredWhitespace, string>> = {
  all: '--ignore-all-space',
  change: '--ignore-space-change',
  eol: '--ignore-space-at-eol',
}

/**
 * How two trees differ, by one git-diff-tree(1).
 *
 * @param from, to ids of trees or commits; `EMPTY_TREE` for nothing.
 * @throws GitError BUSY, TIMEOUT
 */
export async function diffTrees(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
  options: DiffOptions,
): Promise<TreeDiff> {
  const args = ['diff-tree', ...formatOf(options), from, to]
  const diff = new DiffReader(options.maxFiles)
  for await (const token of splitAtZeros(readGit(repositories, id, args), MAX_PATH_BYTES)) diff.take(token)
  return diff.result()
}

/**
 * What commits change, by one git-diff-tree(1) for all of them.
 *
 * @returns the differences by id of the commit.
 * @throws GitError BUSY, TIMEOUT
 */
export async function diffCommits(
  repositories: Repositories,
  id: number,
  steps: readonly CommitStep[],
  options: DiffOptions,
): Promise<ReadonlyMap<string, TreeDiff>> {
  const diffs = new Map(steps.map((step) => [step.id, new DiffReader(options.maxFiles)]))
  // Parents that are named stand in for the real ones; a first commit has none and is shown because of `--root`.
  const input = steps.map((step) => `${step.id}${step.parentId === undefined ? '' : ` ${step.parentId}`}\n`).join('')
  const args = ['diff-tree', '--stdin', '--root', '--always', ...formatOf(options)]
  let diff: DiffReader | undefined
  for await (const token of splitAtZeros(readGit(repositories, id, args, { input }), MAX_PATH_BYTES)) {
    const text = token.length === 40 && !diff?.expectsPath ? token.toString('latin1') : ''
    if (isObjectId(text)) diff = diffs.get(text)
    else diff?.take(token)
  }
  return new Map([...diffs].map(([commitId, reader]) => [commitId, reader.result()]))
}

/**
 * How two trees differ, as text for people and for git-apply(1), as fast as it is taken.
 *
 * @param from, to ids of trees or commits.
 * @throws GitError BUSY, TIMEOUT
 */
export function streamDiff(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
): AsyncGenerator<Buffer, void, undefined> {
  return streamGit(repositories, id, ['diff-tree', '-r', '-M', '--patch', from, to])
}

/**
 * The commits behind one commit up to another one as mails for git-am(1), as fast as they are taken.
 *
 * @param from id of a commit; undefined for all from the first.
 * @throws GitError BUSY, TIMEOUT
 */
export function streamPatch(
  repositories: Repositories,
  id: number,
  from: string | undefined,
  to: string,
): AsyncGenerator<Buffer, void, undefined> {
  const range = from === undefined ? ['--root', to] : [`${from}..${to}`]
  return streamGit(repositories, id, ['format-patch', '--stdout', '--no-signature', ...range])
}

function formatOf({ lines, renames, ignoredWhitespace }: DiffOptions): string[] {
  return [
    '-r',
    '-z',
    '--no-abbrev',
    '--raw',
    ...(lines ? ['--numstat'] : []),
    renames ? '--find-renames' : '--no-renames',
    ...(ignoredWhitespace ? [WHITESPACE_OPTIONS[ignoredWhitespace]] : []),
  ]
}

const KINDS: Readonly<Record<string, ChangeKind>> = { A: 'added', D: 'deleted', R: 'renamed', C: 'copied' }

/** Lines added and removed, `-` for binary files, and a path, which is empty where two follow (git-diff(1), --numstat). */
const COUNTS = /^([0-9]+|-)\t([0-9]+|-)\t/

/** A record whose paths come. */
interface OpenRecord {
  readonly paths: string[]
  readonly wantedPaths: number
  readonly close: (paths: readonly string[]) => void
}

/** Puts one diff together from the output of `--raw --numstat -z`: all raw records, then counts for most of them. */
class DiffReader {
  readonly #files: ChangedFile[] = []
  /** Where in `#files` a file is, by its path. */
  readonly #places = new Map<string, number>()
  readonly #maxFiles: number
  #record: OpenRecord | undefined
  #totalFiles = 0
  #additions = 0
  #deletions = 0

  constructor(maxFiles: number) {
    this.#maxFiles = maxFiles
  }

  /** Whether the next token is a path, whatever it looks like. */
  get expectsPath(): boolean {
    return this.#record !== undefined
  }

  take(token: Buffer): void {
    if (this.#record) this.#takePath(this.#record, token.toString())
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

  /** `oldMode newMode oldId newId status`; old and new path follow where the status is R or C, and one path else. */
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
    this.#totalFiles += 1
    if (this.#files.length >= this.#maxFiles) return
    this.#places.set(file.path, this.#files.length)
    this.#files.push(file)
  }

  #takeCounts(token: Buffer): void {
    const counts = COUNTS.exec(token.toString('latin1', 0, MAX_COUNTS_BYTES))
    if (!counts) throw new Error('git diff-tree printed something unknown')
    const [prefix, added, deleted] = counts
    const add = (path: string) => this.#addCounts(path, added ?? '', deleted ?? '')
    if (prefix.length < token.length) add(token.toString('utf8', prefix.length))
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
    if (file && place !== undefined) this.#files[place] = { ...file, additions, deletions, isBinary }
  }
}

const COLON = 0x3a

/** Longer than two counts can be. */
const MAX_COUNTS_BYTES = 64
