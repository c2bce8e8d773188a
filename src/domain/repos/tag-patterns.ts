import { RE2JS } from 're2js'

/** Limit of compatible systems, where it is the width of a column. */
const MAX_PATTERN_CHARACTERS = 255

/**
 * Instructions of a compiled pattern. Matching takes time in proportion to them and to the name; a text of the longest pattern has
 * one for each character, and short patterns of nested repetitions have hundreds of thousands.
 */
const MAX_PROGRAM_INSTRUCTIONS = 500

/** Whether a name of a tag fits a pattern. */
export type TagMatcher = (name: string) => boolean

/**
 * Compiles what a rule about tags says which tags it is about, in the form that compatible systems have: a regular expression of RE2
 * between slashes, which is to be found somewhere in the name, or a glob for the whole of it. Either takes linear time, and minds
 * the case of letters.
 *
 * @returns undefined when it is neither, or too expensive to match.
 */
export function compileTagPattern(pattern: string): TagMatcher | undefined {
  if (pattern.length > MAX_PATTERN_CHARACTERS) return undefined
  if (pattern.length > 2 && pattern.startsWith('/') && pattern.endsWith('/')) {
    const expression = compile(pattern.slice(1, -1))
    return expression && ((name) => expression.test(name))
  }
  const source = expressionOf(pattern)
  const glob = source === undefined ? undefined : compile(source, RE2JS.DOTALL)
  return glob && ((name) => glob.testExact(name))
}

function compile(source: string, flags = 0): RE2JS | undefined {
  try {
    const expression = RE2JS.compile(source, flags)
    return expression.programSize() <= MAX_PROGRAM_INSTRUCTIONS ? expression : undefined
  } catch {
    // Whatever the parser stumbles over, the pattern is not one that can be used.
    return undefined
  }
}

/** The characters with a meaning, each with what belongs to it: an escaped character, or the inside of a class. */
const TOKEN = /\\(.)|\[(!?)((?:\\.|[^\]\\])+)\]|[*?{},[\]\\]|[^*?{},[\]\\]+/gsu

/**
 * The regular expression that a glob stands for: `*` for any characters, slashes too, `?` for one, `[a-z]` and `[!a-z]` for one of
 * some, `{a,b}` for one of some texts, and a backslash before a character that means itself.
 *
 * @returns undefined when something is left open.
 */
function expressionOf(glob: string): string | undefined {
  let source = ''
  let depth = 0
  for (const [token, escaped, negation, members] of glob.matchAll(TOKEN)) {
    if (escaped !== undefined) source += RE2JS.quote(escaped)
    else if (members !== undefined) source += `[${negation ? '^' : ''}${classOf(members)}]`
    else if (token === '*') source += '.*'
    else if (token === '?') source += '.'
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
  const literal = (character: string) => (/[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character)
  return members.replace(/\\(.)|[[\]^&~|]/gsu, (token, escaped?: string) => literal(escaped ?? token))
}
