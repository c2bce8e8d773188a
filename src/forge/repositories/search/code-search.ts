import { RE2JS } from 're2js'
import {
  type CodeQuery,
  type CodeSearchResult,
  ExpressionError,
  type FoundFile,
  type FoundLine,
  searchCode as searchByGit,
} from '../../../platform/git/objects/code-search.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { compileExpression } from '../../core/globs.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import { findCommitId, notFound, reading } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'

/** A query of a client. */
export interface CodeSearch extends CodeQuery {
  /** Name of a branch or tag, or id of a commit; empty for the default branch. */
  readonly ref: string
}

/** A part of a line, in characters from 0. */
interface CharacterRange {
  readonly start: number
  /** Behind the last character. */
  readonly end: number
}

/** Finds what matches in a text. */
type RangesOf = (text: string) => CharacterRange[]

interface LineView extends FoundLine {
  readonly ranges: readonly CharacterRange[]
}

export interface FileView extends FoundFile {
  readonly lines: readonly LineView[]
}

/** A page of the files with lines that match. */
export interface CodeSearchView {
  readonly open: OpenRepository
  /** Undefined for an empty repository. */
  readonly commitId: string | undefined
  readonly files: readonly FileView[]
  readonly total: number
  readonly isIncomplete: boolean
}

const MAX_QUERY_CHARACTERS = 200
const MAX_GLOBS = 10
const MAX_GLOB_CHARACTERS = 255

/**
 * Characters of a page in which an expression looks for its ranges, at about 3 us each. Lines beyond
 * have none.
 */
const MAX_EXPRESSION_CHARACTERS = 20_000

/** Ranges of one line. */
const MAX_RANGES = 20

// A line feed would begin another pattern of Git, and arguments of processes have no NUL.
const CONTROL = /[\0\r\n]/

/**
 * Searches the text files of a commit.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REF_NOT_FOUND,
 *   INVALID_FIELD, INVALID_SEARCH_EXPRESSION, SERVER_BUSY, GIT_TIMEOUT
 */
export async function searchCode(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  asked: CodeSearch,
  page: Page,
): Promise<CodeSearchView> {
  const open = await openRepository(app, caller, name, 'read')
  const search = { ...asked, globs: asked.globs.filter((glob) => glob !== '') }
  const rangesOf = compileQuery(search)
  const commitId = await findCommitId(app, open.repository, search.ref)
  if (commitId === undefined) {
    if (search.ref !== '') throw notFound('REF_NOT_FOUND', 'ref', search.ref)
    return { open, commitId, files: [], total: 0, isIncomplete: false }
  }
  const { files, isIncomplete } = await searchFiles(app, open, commitId, search)
  return {
    open,
    commitId,
    files: files
      .slice(page.offset, page.offset + page.limit)
      .map((file) => withRanges(file, rangesOf)),
    total: files.length,
    isIncomplete,
  }
}

/** Adds what matches in the lines of a file. */
export function withRanges(file: FoundFile, rangesOf: RangesOf): FileView {
  const lines = file.lines.map((line) => ({
    ...line,
    ranges: line.isMatch ? rangesOf(line.text) : [],
  }))
  return { ...file, lines }
}

/** Searches files of a commit. */
export async function searchFiles(
  app: ReposApp,
  { repository }: OpenRepository,
  commitId: string,
  query: CodeQuery,
): Promise<CodeSearchResult> {
  try {
    return await reading(searchByGit(app.git, repository.id, commitId, query))
  } catch (error) {
    if (error instanceof ExpressionError)
      throw new DomainError('INVALID_SEARCH_EXPRESSION', { fault: error.fault })
    throw error
  }
}

/**
 * Checks a query, and returns a function that finds what matches in a text. The syntax of RE2 has no
 * look-around and no back-references, and Git reads what is left in the same way.
 */
export function compileQuery(query: CodeQuery): RangesOf {
  const { text, isExpression, isCaseSensitive, globs } = query
  if (text.trim() === '') throw new DomainError('INVALID_FIELD', { field: 'q', rule: 'Required' })
  if ([...text].length > MAX_QUERY_CHARACTERS)
    throw new DomainError('INVALID_FIELD', { field: 'q', max_length: String(MAX_QUERY_CHARACTERS) })
  if (CONTROL.test(text)) throw new DomainError('INVALID_FIELD', { field: 'q' })
  if (globs.length > MAX_GLOBS)
    throw new DomainError('INVALID_FIELD', { field: 'path', max_items: String(MAX_GLOBS) })
  if (globs.some((glob) => glob.length > MAX_GLOB_CHARACTERS || CONTROL.test(glob)))
    throw new DomainError('INVALID_FIELD', {
      field: 'path',
      max_length: String(MAX_GLOB_CHARACTERS),
    })
  return isExpression
    ? expressionRanges(text, isCaseSensitive)
    : literalRanges(text, isCaseSensitive)
}

function literalRanges(text: string, isCaseSensitive: boolean) {
  const literal = new RegExp(
    text.replace(/[$()*+./?[\\\]^{|}]/g, '\\$&'),
    isCaseSensitive ? 'gu' : 'giu',
  )
  return (line: string) => {
    const matches: CharacterRange[] = []
    for (const { index, 0: match } of line.matchAll(literal)) {
      if (matches.length === MAX_RANGES) break
      matches.push(charactersOf(line, index, index + match.length))
    }
    return matches
  }
}

function expressionRanges(text: string, isCaseSensitive: boolean) {
  const expression = compileExpression(text, isCaseSensitive ? 0 : RE2JS.CASE_INSENSITIVE)
  if (!expression) throw new DomainError('INVALID_SEARCH_EXPRESSION', { fault: 'invalid' })
  let charactersLeft = MAX_EXPRESSION_CHARACTERS
  return (line: string) => {
    charactersLeft -= line.length
    const matches: CharacterRange[] = []
    if (charactersLeft < 0) return matches
    const matcher = expression.matcher(line)
    while (matches.length < MAX_RANGES && matcher.find())
      if (matcher.end() > matcher.start())
        matches.push(charactersOf(line, matcher.start(), matcher.end()))
    return matches
  }
}

/** Converts positions in UTF-16 to positions in characters. */
function charactersOf(line: string, start: number, end: number): CharacterRange {
  const before = [...line.slice(0, start)].length
  return { start: before, end: before + [...line.slice(start, end)].length }
}
