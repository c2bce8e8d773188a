import { createYielder } from '../../core/yielding.ts'
import {
  compileExpression,
  MAX_PATTERN_CHARACTERS,
  type Matcher,
} from '../../repos/protection/globs.ts'

/**
 * What a file CODEOWNERS says, in the form that compatible systems have: a line for each rule, with
 * a regular expression of RE2 for whole paths and names of users and teams, between spaces. A `!`
 * in front turns the expression round; a backslash takes its meaning from the next character, so
 * that one for the expression is written twice; what follows a `#` is a remark.
 */

/** More rules than people keep in order. Those behind are not looked at. */
const MAX_RULES = 200

/** Matching all paths of a pull request with all rules, of the process's own time. */
const MAX_MATCHING_MS = 1_000

/** Who is to look at some files. */
export interface CodeOwnerRule {
  /** Whether a file is one of them. */
  readonly matches: Matcher
  /** Usernames, and teams as `organisation/team`. */
  readonly names: readonly string[]
}

/** Reads the rules. What makes no sense, or is too expensive to match, is left out. */
export function parseCodeOwners(text: string): CodeOwnerRule[] {
  const rules: CodeOwnerRule[] = []
  for (const line of text.split('\n')) {
    if (rules.length === MAX_RULES) break
    const [pattern = '', ...names] = tokensOf(line)
    const matches = names.length === 0 ? undefined : compile(pattern)
    if (matches) rules.push({ matches, names: names.map((name) => name.replace(/^@/, '')) })
  }
  return rules
}

function compile(pattern: string): Matcher | undefined {
  if (pattern.length > MAX_PATTERN_CHARACTERS) return undefined
  const isTurned = pattern.startsWith('!')
  // However their accents are put together, file systems may take two names for the same.
  const expression = compileExpression((isTurned ? pattern.slice(1) : pattern).normalize())
  return expression && ((path) => expression.testExact(path.normalize()) !== isTurned)
}

function tokensOf(line: string): string[] {
  const tokens: string[] = []
  let token = ''
  let isEscaped = false
  for (const character of `${line.trim()} `) {
    if (isEscaped) {
      token += character
      isEscaped = false
    } else if (character === '\\') isEscaped = true
    else if (character === '#') break
    else if (character === ' ' || character === '\t') {
      if (token !== '') tokens.push(token)
      token = ''
    } else token += character
  }
  return token === '' ? tokens : [...tokens, token]
}

/**
 * The names of those who are to look at some files, each once. Where it takes too long to find out
 * whether a rule is about one of them, it is.
 *
 * @param maxMs of the process's own time.
 */
export async function ownersOf(
  rules: readonly CodeOwnerRule[],
  paths: readonly string[],
  maxMs = MAX_MATCHING_MS,
): Promise<string[]> {
  const yielder = createYielder()
  const names = new Set<string>()
  for (const rule of rules) {
    for (const path of paths) {
      const pause = yielder.yield()
      if (pause) await pause
      if (yielder.spentMs() > maxMs || rule.matches(path)) {
        for (const name of rule.names) names.add(name)
        break
      }
    }
  }
  return [...names]
}
