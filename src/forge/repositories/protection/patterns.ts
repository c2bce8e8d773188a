import { LRUCache } from 'lru-cache'
import {
  compileExpression,
  compileGlob,
  MAX_PATTERN_CHARACTERS,
  type Matcher,
} from '../../core/globs.ts'

/**
 * The number of patterns in one list of files. Each changed path is matched against each pattern.
 */
const MAX_FILE_PATTERNS = 100

/** The number of cached patterns. A repository has a few dozen patterns. */
const MAX_CACHED = 5_000

/** Caches compiled patterns by their text. */
function cached<T extends object>(compile: (text: string) => T): (text: string) => T {
  const results = new LRUCache<string, T>({ max: MAX_CACHED, memoMethod: compile })
  return (text) => results.memo(text)
}

/** Returns whether the name of a branch protection is a glob. */
export function isBranchGlob(name: string): boolean {
  return /[*?\\[\]{}]/.test(name)
}

/**
 * Returns the matcher of a branch protection by its name. A plain name matches in upper or lower
 * case. A glob is case-sensitive and its `*` stops at slashes. An invalid glob is the name of one
 * branch.
 */
export const branchMatcher: (ruleName: string) => Matcher = cached((ruleName) => {
  if (!isBranchGlob(ruleName)) {
    const key = ruleName.toLowerCase()
    return (branch) => branch.toLowerCase() === key
  }
  return compileGlob(ruleName, '/') ?? ((branch) => branch === ruleName)
})

/**
 * Returns the matcher of a list of file patterns: globs separated by semicolons, whose `*` stops at
 * slashes and dots. Invalid globs match nothing. Paths that are equal on file systems that fold
 * case and normalise Unicode match alike.
 *
 * @returns `matches` is undefined if the list is empty
 */
export const fileMatcher = cached((patterns: string): { readonly matches: Matcher | undefined } => {
  const globs = fileGlobs(patterns)
  const matchers = globs.flatMap((glob) => compileGlob(glob, './') ?? [])
  if (globs.length === 0) return { matches: undefined }
  return {
    matches: (path) => {
      const key = folded(path)
      return matchers.some((matches) => matches(key))
    },
  }
})

/**
 * Returns whether a list of file patterns is within the limits. Patterns beyond the limits would
 * silently protect nothing.
 */
export function isFileList(patterns: string): boolean {
  const globs = fileGlobs(patterns)
  return (
    globs.length <= MAX_FILE_PATTERNS &&
    globs.every(({ length }) => length <= MAX_PATTERN_CHARACTERS)
  )
}

function fileGlobs(patterns: string): string[] {
  return patterns
    .split(';')
    .map((glob) => folded(glob.trim()))
    .filter((glob) => glob !== '')
}

function folded(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/** Returns whether a tag name matches a pattern. */
export type TagMatcher = Matcher

/**
 * Compiles the pattern of a tag protection, in the syntax of compatible systems: an RE2 expression
 * between slashes, which matches anywhere in the name, or a glob for the whole name, whose `*` also
 * matches slashes. Both are case-sensitive and match in linear time.
 *
 * @returns undefined if the pattern is invalid or too expensive to match
 */
export function compileTagPattern(pattern: string): TagMatcher | undefined {
  if (pattern.length > MAX_PATTERN_CHARACTERS) return undefined
  if (pattern.length > 2 && pattern.startsWith('/') && pattern.endsWith('/')) {
    const expression = compileExpression(pattern.slice(1, -1))
    return expression && ((name) => expression.test(name))
  }
  return compileGlob(pattern, '')
}
