import { compileExpression, compileGlob, MAX_PATTERN_CHARACTERS, type Matcher } from './globs.ts'

/** Whether a name of a tag fits a pattern. */
export type TagMatcher = Matcher

/**
 * Compiles what a rule about tags says which tags it is about, in the form that compatible systems
 * have: a regular expression of RE2 between slashes, which is to be found somewhere in the name, or
 * a glob for the whole of it, whose `*` takes slashes too. Either takes linear time, and minds the
 * case of letters.
 *
 * @returns undefined when it is neither, or too expensive to match.
 */
export function compileTagPattern(pattern: string): TagMatcher | undefined {
  if (pattern.length > MAX_PATTERN_CHARACTERS) return undefined
  if (pattern.length > 2 && pattern.startsWith('/') && pattern.endsWith('/')) {
    const expression = compileExpression(pattern.slice(1, -1))
    return expression && ((name) => expression.test(name))
  }
  return compileGlob(pattern, '')
}
