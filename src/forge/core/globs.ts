import { RE2JS } from 're2js'

/** The longest pattern. Compatible systems have the same limit. */
export const MAX_PATTERN_CHARACTERS = 255

/**
 * The number of instructions of a compiled pattern. Matching takes time in proportion to the
 * instructions and the length of the name. A literal pattern has one instruction per character, but
 * a short pattern with nested repetitions can have hundreds of thousands.
 */
const MAX_PROGRAM_INSTRUCTIONS = 500

/** Returns whether a text matches a pattern. */
export type Matcher = (text: string) => boolean

/** The characters that `*` and `?` do not match. Empty for none. */
export type Separators = '' | '/' | './'

/**
 * Compiles a glob that matches whole texts, in the syntax of compatible systems: `*` matches any
 * characters up to a separator, `**` any characters, `?` one character that is no separator,
 * `[a-z]` and `[!a-z]` one character of a class, `{a,b}` one of several texts, and a backslash
 * escapes the next character. Globs are case-sensitive and match in linear time.
 *
 * @returns undefined if a bracket is not closed or the glob is too expensive to match
 */
export function compileGlob(glob: string, separators: Separators): Matcher | undefined {
  const source = glob.length <= MAX_PATTERN_CHARACTERS ? expressionOf(glob, separators) : undefined
  const expression = source === undefined ? undefined : compileExpression(source, RE2JS.DOTALL)
  return expression && ((text) => expression.testExact(text))
}

/**
 * Compiles a regular expression in RE2 syntax. Returns undefined if it is invalid or too expensive
 * to match.
 */
export function compileExpression(source: string, flags = 0): RE2JS | undefined {
  try {
    const expression = RE2JS.compile(source, flags)
    return expression.programSize() <= MAX_PROGRAM_INSTRUCTIONS ? expression : undefined
  } catch {
    // Any error of the parser means that the pattern is invalid.
    return undefined
  }
}

/**
 * The tokens of a glob: an escape with its character, a class with its content, wildcards, braces
 * and literal text.
 */
const TOKEN = /\\(.)|\[(!?)((?:\\.|[^\]\\])+)\]|\*\*|[*?{},[\]\\]|[^*?{},[\]\\]+/gsu

/** Translates a glob to a regular expression. Returns undefined if a bracket is not closed. */
function expressionOf(glob: string, separators: Separators): string | undefined {
  const any = separators === '' ? '.' : `[^${separators}]`
  let source = ''
  let depth = 0
  for (const [token, escaped, negation, members] of glob.matchAll(TOKEN)) {
    if (escaped !== undefined) source += RE2JS.quote(escaped)
    else if (members !== undefined) source += `[${negation ? '^' : ''}${classOf(members)}]`
    else if (token === '**') source += '.*'
    else if (token === '*') source += `${any}*`
    else if (token === '?') source += any
    else if (token === '{') source += '(?:'
    else if (token === '}') source += ')'
    else if (token === ',' && depth > 0) source += '|'
    else if (token === '[' || token === '\\') return undefined
    else source += RE2JS.quote(token)
    depth += token === '{' ? 1 : token === '}' ? -1 : 0
    if (depth < 0) return undefined
  }
  return depth === 0 ? source : undefined
}

/** Translates the content of a class, in which only a hyphen between two characters is special. */
function classOf(members: string): string {
  const literal = (character: string) =>
    /[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character
  return members.replace(/\\(.)|[[\]^&~|]/gsu, (token, escaped?: string) =>
    literal(escaped ?? token),
  )
}
