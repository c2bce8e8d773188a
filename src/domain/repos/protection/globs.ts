import { RE2JS } from 're2js'

/** Limit of compatible systems, where it is the width of a column. */
export const MAX_PATTERN_CHARACTERS = 255

/**
 * Instructions of a compiled pattern. Matching takes time in proportion to them and to the name; a
 * text of the longest pattern has one for each character, and short patterns of nested repetitions
 * have hundreds of thousands.
 */
const MAX_PROGRAM_INSTRUCTIONS = 500

/** Whether a text fits a pattern. */
export type Matcher = (text: string) => boolean

/** Characters that a single `*` and a `?` do not take. Empty for none. */
export type Separators = '' | '/' | './'

/**
 * Compiles a glob for whole texts, in the form that compatible systems have: `*` for any characters
 * up to a separator, `**` for any at all, `?` for one that is no separator, `[a-z]` and `[!a-z]`
 * for one of some, `{a,b}` for one of some texts, and a backslash before a character that means
 * itself. It minds the case of letters, and takes linear time.
 *
 * @returns undefined when something is left open, or it is too expensive to match.
 */
export function compileGlob(glob: string, separators: Separators): Matcher | undefined {
  const source = glob.length <= MAX_PATTERN_CHARACTERS ? expressionOf(glob, separators) : undefined
  const expression = source === undefined ? undefined : compileExpression(source, RE2JS.DOTALL)
  return expression && ((text) => expression.testExact(text))
}

/**
 * Compiles a regular expression in the syntax of RE2; undefined when it is none, or too expensive
 * to match.
 */
export function compileExpression(source: string, flags = 0): RE2JS | undefined {
  try {
    const expression = RE2JS.compile(source, flags)
    return expression.programSize() <= MAX_PROGRAM_INSTRUCTIONS ? expression : undefined
  } catch {
    // Whatever the parser stumbles over, the pattern is not one that can be used.
    return undefined
  }
}

/**
 * The characters with a meaning, each with what belongs to it: an escaped character, or the inside
 * of a class.
 */
const TOKEN = /\\(.)|\[(!?)((?:\\.|[^\]\\])+)\]|\*\*|[*?{},[\]\\]|[^*?{},[\]\\]+/gsu

/** The regular expression that a glob stands for; undefined when something is left open. */
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

/** The inside of a class, in which nothing but a hyphen between two characters has a meaning. */
function classOf(members: string): string {
  const literal = (character: string) =>
    /[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character
  return members.replace(/\\(.)|[[\]^&~|]/gsu, (token, escaped?: string) =>
    literal(escaped ?? token),
  )
}
