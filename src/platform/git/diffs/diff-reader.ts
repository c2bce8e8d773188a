import { textOfPath } from '../core/path-text.ts'

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
export class DiffReader {
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
