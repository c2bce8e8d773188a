import { GitError } from '../core/errors.ts'
import { textOfPath } from '../core/path-text.ts'
import { lineSplitter } from '../processes/byte-reader.ts'
import { currentHolder } from '../processes/readers.ts'
import { readGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'

/** What to search for in the text files of a commit. */
export interface CodeQuery {
  /** Without line feeds and NUL. */
  readonly text: string
  /** Whether the text is a regular expression. The caller has checked its syntax. */
  readonly isExpression: boolean
  readonly isCaseSensitive: boolean
  /** Globs of paths, where `!` begins one that excludes. Empty: all files. */
  readonly globs: readonly string[]
  /** The only paths to search; undefined for all. */
  readonly paths?: readonly string[] | undefined
}

/** A line of a file. */
export interface FoundLine {
  /** From 1. */
  readonly number: number
  /** At most `MAX_SHOWN_BYTES` of the line. */
  readonly text: string
  /** Whether the line matches. Otherwise the line is near one that does. */
  readonly isMatch: boolean
  readonly isCutAtStart: boolean
  readonly isCutAtEnd: boolean
}

/** A file with lines that match. */
export interface FoundFile {
  readonly path: string
  readonly lines: readonly FoundLine[]
  /** Whether more lines match than `lines` has. */
  readonly hasMore: boolean
}

export interface CodeSearchResult {
  /** In the order of Git. */
  readonly files: readonly FoundFile[]
  /** Whether the search ended before it had read all files. */
  readonly isIncomplete: boolean
}

/** The kinds of regular expressions that Git does not search for. */
export type ExpressionFault = 'unsupported' | 'invalid'

/** The installed Git refuses a regular expression. */
export class ExpressionError extends Error {
  readonly fault: ExpressionFault

  constructor(fault: ExpressionFault, options?: ErrorOptions) {
    super(`Git cannot search for the expression: ${fault}`, options)
    this.name = 'ExpressionError'
    this.fault = fault
  }
}

/** Time of one search. Waiting for a slot does not count. */
const MAX_SEARCH_MS = 5_000

/** A search beyond these limits ends. A person refines a search with so many results. */
const MAX_FILES = 500
const MAX_LINES_OF_FILE = 20
const MAX_RESULT_BYTES = 2 * 1024 ** 2

/** Lines before and after each line that matches. */
const CONTEXT_LINES = 2

/** The part of a line that is shown. Generated files have lines of megabytes. */
const MAX_SHOWN_BYTES = 400

/** Bytes before a match in a line that is cut. */
const BYTES_BEFORE_MATCH = 100

/** The part of a line in which a match is shown, with the number that Git writes before the line. */
const MAX_READ_BYTES = 64 * 1024

/** Memory of all cached results, and of a line and a file beside their texts. */
const MAX_CACHE_BYTES = 16 * 1024 ** 2
const LINE_BYTES = 120
const FILE_BYTES = 200

/** Exit status of git-grep(1) when no line matches. */
const NOTHING_FOUND = 1

/** PCRE gives up one file, and Git with it (pcre2match in grep.c of Git). */
const GAVE_UP = /pcre2_(?:jit_)?match failed/
const UNSUPPORTED = /cannot use Perl-compatible regexes/
const INVALID = /fatal: (?:command line|-e option)[,:]|pcre2/i

/** The search ended early for a reason that may not come again, so the result is not cached. */
class Unfinished extends Error {
  readonly files: readonly FoundFile[]

  constructor(files: readonly FoundFile[], cause: unknown) {
    super('the search exceeded its limits', { cause })
    this.files = files
  }
}

/**
 * Searches the text files of a commit by git-grep(1). Binary files, symbolic links and submodules
 * are left out. Clients choose the files and the query, so the search ends at limits of time, memory and results,
 * and the result says so. The result of a commit never changes and is cached.
 *
 * @throws GitError BUSY
 * @throws ExpressionError
 */
export async function searchCode(
  repositories: Repositories,
  id: number,
  commitId: string,
  query: CodeQuery,
): Promise<CodeSearchResult> {
  const cache = resultsOf<CodeSearchResult>(
    repositories,
    'code searches',
    MAX_CACHE_BYTES,
    bytesOfResult,
  )
  const key = JSON.stringify([commitId, ...Object.values(orderedQuery(query))])
  try {
    return await cache.get(id, key, () => search(repositories, id, commitId, query))
  } catch (error) {
    if (error instanceof Unfinished) return { files: error.files, isIncomplete: true }
    throw error
  }
}

/**
 * Runs a search of the caller's own in one of the places of searches, which are few.
 *
 * @throws GitError BUSY
 */
export async function withSearchPlace<T>(
  repositories: Repositories,
  run: () => Promise<T>,
): Promise<T> {
  const release = await repositories.searches.acquire({ holder: currentHolder() })
  try {
    return await run()
  } finally {
    release()
  }
}

function orderedQuery(query: CodeQuery): CodeQuery {
  const { text, isExpression, isCaseSensitive, globs, paths = [] } = query
  return { text, isExpression, isCaseSensitive, globs, paths }
}

function bytesOfResult({ files }: CodeSearchResult): number {
  return files.reduce(
    (sum, { path, lines }) => sum + FILE_BYTES + path.length * 2 + sizeOf(lines),
    0,
  )
}

function sizeOf(lines: readonly FoundLine[]): number {
  return lines.reduce((sum, { text }) => sum + LINE_BYTES + text.length * 2, 0)
}

async function search(
  repositories: Repositories,
  id: number,
  commitId: string,
  query: CodeQuery,
): Promise<CodeSearchResult> {
  const release = await repositories.searches.acquire({ holder: currentHolder() })
  const found = new FoundFiles(commitId)
  try {
    const linesOf = lineSplitter(MAX_READ_BYTES)
    const output = readGit(repositories, id, argumentsOf(commitId, query), {
      timeoutMs: MAX_SEARCH_MS,
      hasPathPatterns: true,
      hasSlot: true,
      isUtf8: true,
      emptyStatus: NOTHING_FOUND,
    })
    for await (const chunk of output)
      for (const line of linesOf(chunk)) {
        found.add(line)
        if (found.isFull) return { files: found.files(), isIncomplete: true }
      }
    return { files: found.files(), isIncomplete: false }
  } catch (error) {
    throw explained(error, found)
  } finally {
    release()
  }
}

function explained(error: unknown, found: FoundFiles): unknown {
  if (!(error instanceof Error)) return error
  const isLimit =
    error instanceof GitError
      ? ['TIMEOUT', 'OUT_OF_MEMORY'].includes(error.kind)
      : GAVE_UP.test(error.message)
  if (isLimit) return new Unfinished(found.files(), error)
  if (error instanceof GitError) return error
  if (UNSUPPORTED.test(error.message)) return new ExpressionError('unsupported', { cause: error })
  if (INVALID.test(error.message)) return new ExpressionError('invalid', { cause: error })
  return error
}

function argumentsOf(commitId: string, query: CodeQuery): string[] {
  const { text, isExpression, isCaseSensitive, globs, paths = [] } = query
  return [
    // A name with line feeds is one line in quotation marks, other names are as they are.
    ...['-c', 'core.quotePath=false'],
    ...['grep', '-I', '--full-name', '--no-color', '--heading', '--line-number', '--column'],
    // One thread: the other cores are for the other callers.
    '--threads=1',
    `--context=${CONTEXT_LINES}`,
    `--max-count=${MAX_LINES_OF_FILE + 1}`,
    isExpression ? '--perl-regexp' : '--fixed-strings',
    ...(isCaseSensitive ? [] : ['--ignore-case']),
    ...['-e', text, commitId, '--'],
    ...paths.map((path) => `:(literal)${path}`),
    ...globs.map((glob) =>
      glob.startsWith('!') ? `:(exclude,glob)${glob.slice(1)}` : `:(glob)${glob}`,
    ),
  ]
}

/** `12-text` for a line near a match, and `12:5:text` for one that matches at its fifth byte. */
const NUMBERS = /^(\d{1,10})(?:-|:(\d{1,10}):)/
const MAX_NUMBERS_BYTES = 24

/** Separates lines that do not follow each other. */
const GAP = '--'

/** Reads the output of git-grep(1). */
class FoundFiles {
  readonly #heading: string
  readonly #files: FoundFile[] = []
  #path: string | undefined
  #lines: FoundLine[] = []
  #matches = 0
  #hasMore = false
  #bytes = 0

  constructor(commitId: string) {
    this.#heading = `${commitId}:`
  }

  /** Whether the search has as many results as it may have. */
  get isFull(): boolean {
    return this.#files.length >= MAX_FILES || this.#bytes >= MAX_RESULT_BYTES
  }

  /** Returns the files until now. */
  files(): readonly FoundFile[] {
    this.#endFile()
    return this.#files.slice(0, MAX_FILES)
  }

  /** Takes a line of the output: the name of a file, a line of it, or a gap. */
  add(line: Buffer): void {
    // A line of a file begins with its number, which has less digits than the id of the commit.
    if (line.toString('latin1', 0, this.#heading.length) === this.#heading) {
      this.#endFile()
      this.#path = pathOf(line.subarray(this.#heading.length))
      return
    }
    const [prefix, number, column] =
      NUMBERS.exec(line.toString('latin1', 0, MAX_NUMBERS_BYTES)) ?? []
    if (prefix === undefined || this.#hasMore) {
      if (prefix === undefined && line.toString('latin1') !== GAP)
        throw new Error('git grep wrote a line without a number')
      return
    }
    const isMatch = column !== undefined
    if (isMatch && this.#matches === MAX_LINES_OF_FILE) {
      this.#hasMore = true
      return
    }
    if (isMatch) this.#matches += 1
    const shown = shownPart(line.subarray(prefix.length), Number(column ?? 1) - 1)
    this.#lines.push({ number: Number(number), isMatch, ...shown })
    this.#bytes += LINE_BYTES + shown.text.length * 2
  }

  #endFile(): void {
    if (this.#path !== undefined && this.#matches > 0) {
      const last = this.#lines.findLast(({ isMatch }) => isMatch)?.number ?? 0
      // Lines before a match that is left out.
      const lines = this.#lines.filter(({ number }) => number <= last + CONTEXT_LINES)
      this.#files.push({ path: this.#path, lines, hasMore: this.#hasMore })
      this.#bytes += FILE_BYTES + this.#path.length * 2
    }
    this.#path = undefined
    this.#lines = []
    this.#matches = 0
    this.#hasMore = false
  }
}

const CARRIAGE_RETURN = 0x0d

/**
 * Returns the part of a line that is shown.
 *
 * @param at where a match begins, in bytes.
 */
function shownPart(line: Buffer, at: number): Omit<FoundLine, 'number' | 'isMatch'> {
  const content = line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line
  if (content.length <= MAX_SHOWN_BYTES)
    return { text: content.toString(), isCutAtStart: false, isCutAtEnd: false }
  const isWithin = at < content.length && at > MAX_SHOWN_BYTES - BYTES_BEFORE_MATCH
  const start = characterStart(content, isWithin ? at - BYTES_BEFORE_MATCH : 0)
  const end = characterStart(content, Math.min(start + MAX_SHOWN_BYTES, content.length))
  return {
    text: content.toString('utf8', start, end),
    isCutAtStart: start > 0,
    isCutAtEnd: end < content.length,
  }
}

/** Returns where a character of UTF-8 begins, at most three bytes before a position. */
function characterStart(content: Buffer, at: number): number {
  for (let start = at; start > at - 4 && start > 0; start--)
    if (((content[start] ?? 0) & 0xc0) !== 0x80) return start
  return at
}

/** The letters of escapes (quote.c of Git) and what they stand for. */
const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
}

/** Returns the path that Git writes, in quotation marks where a character needs an escape. */
function pathOf(written: Buffer): string {
  const text = written.toString('latin1')
  if (!text.startsWith('"')) return textOfPath(written)
  const bytes = text
    .slice(1, -1)
    .replace(/\\(?:([0-3][0-7]{2})|(.))/g, (_, octal: string | undefined, letter: string) =>
      octal === undefined
        ? (ESCAPES[letter] ?? letter)
        : String.fromCharCode(Number.parseInt(octal, 8)),
    )
  return textOfPath(Buffer.from(bytes, 'latin1'))
}
