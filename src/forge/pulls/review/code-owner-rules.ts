import { createYielder } from '../../../platform/concurrency/yielding.ts'
import { compileExpression, MAX_PATTERN_CHARACTERS, type Matcher } from '../../core/globs.ts'

/**
 * Parser of CODEOWNERS files in the format of compatible systems. Each line is a rule: a regular
 * expression in RE2 syntax that must match whole paths, then names of users and teams, separated by
 * spaces. A leading `!` inverts the expression. A backslash escapes the next character, so a
 * backslash of the expression is written twice. A `#` begins a comment.
 */

/** Maximum number of rules. Later rules are ignored. */
const MAX_RULES = 200

/** Maximum CPU time of this process to match the paths of a pull request against all rules. */
const MAX_MATCHING_MS = 1_000

/** A rule of a CODEOWNERS file. */
export interface CodeOwnerRule {
  /** Returns whether the rule applies to a file. */
  readonly matches: Matcher
  /** Usernames, and teams in the form `organisation/team`. */
  readonly names: readonly string[]
}

/** Parses the rules. Skips invalid rules, and rules that are too expensive to match. */
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
  // Normalised, because file systems may treat different compositions of a character as equal.
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
 * Returns the names of the owners of files, without duplicates. A rule that takes too long to match
 * counts as a match.
 *
 * @param maxMs CPU time of this process.
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
