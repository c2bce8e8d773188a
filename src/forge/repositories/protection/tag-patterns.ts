import {
  compileExpression,
  compileGlob,
  MAX_PATTERN_CHARACTERS,
  type Matcher,
} from '../../core/globs.ts'

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
