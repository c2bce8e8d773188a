import { compileGlob, MAX_PATTERN_CHARACTERS, type Matcher } from './globs.ts'

/** Patterns of one list of files. Every changed path is matched against each. */
const MAX_FILE_PATTERNS = 100

/** Compiled texts kept. A repository has a few dozen; those of repositories in use fit. */
const MAX_KEPT = 5_000

/** Remembers what was compiled, by its text, which says all about it. */
function kept<T>(compile: (text: string) => T): (text: string) => T {
  const results = new Map<string, T>()
  return (text) => {
    const known = results.get(text)
    if (known !== undefined) return known
    if (results.size >= MAX_KEPT) results.clear()
    const result = compile(text)
    results.set(text, result)
    return result
  }
}

/** Whether the name of a rule about branches is a glob. */
export function isBranchGlob(name: string): boolean {
  return /[*?\\[\]{}]/.test(name)
}

/**
 * What decides whether a rule about branches, by its name, is about a branch: a plain name in any
 * case of its letters, or a glob whose `*` stops at slashes and which minds the case. A glob that
 * makes no sense is the name of one branch.
 */
export const branchMatcher: (ruleName: string) => Matcher = kept((ruleName) => {
  if (!isBranchGlob(ruleName)) {
    const key = ruleName.toLowerCase()
    return (branch) => branch.toLowerCase() === key
  }
  return compileGlob(ruleName, '/') ?? ((branch) => branch === ruleName)
})

/**
 * What decides whether a list of patterns is about a path: globs between semicolons, whose `*`
 * stops at slashes and dots. Those that make no sense are about nothing. Names that are one to a
 * file system that folds case and Unicode are one here.
 *
 * @returns undefined when there is no pattern in the list.
 */
export const fileMatcher = kept((patterns: string): { readonly matches: Matcher | undefined } => {
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
 * Whether a list of patterns has no more, and no longer ones, than may be: those would protect
 * nothing, and nobody would know.
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
