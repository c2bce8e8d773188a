import { LRUCache } from 'lru-cache'
import type { RE2JS } from 're2js'
import type { RawCommit } from '../../../platform/git/objects/raw-objects.ts'
import { checkLength } from '../../accounts/users/user-fields.ts'
import { DomainError } from '../../core/errors.ts'
import { compileExpression, MAX_PATTERN_CHARACTERS } from '../../core/globs.ts'
import type { ProtectionSettings } from './branch-protections.rows.ts'

/** The settings of a branch protection about the commits and files that arrive, and about names. */

/** The patterns, RE2 expressions that match anywhere in a text. An empty one matches every text. */
const PATTERNS = [
  'commit_message_pattern',
  'commit_author_email_pattern',
  'branch_name_pattern',
] as const

/** The rules of a branch protection. Empty and zero mean that there is none. */
export type CommitRules = Pick<ProtectionSettings, (typeof PATTERNS)[number] | 'max_file_bytes'>

/** The rules in a request. Undefined keeps the value. */
export type CommitRulesEdit = {
  readonly [Rule in keyof CommitRules]: CommitRules[Rule] | undefined
}

export const NO_COMMIT_RULES: CommitRules = {
  commit_message_pattern: '',
  commit_author_email_pattern: '',
  branch_name_pattern: '',
  max_file_bytes: 0,
}

/** Largest limit of a file: the largest integer that every client language can represent exactly. */
const MAX_FILE_BYTES = Number.MAX_SAFE_INTEGER

/** The messages of refused pushes contain the patterns. */
const CONTROL_CHARACTER = /\p{Cc}/u

/** Checks the rules that a request asks for. @throws INVALID_FIELD, FIELD_TOO_LONG */
export function checkCommitRules(edit: CommitRulesEdit): void {
  for (const field of PATTERNS) {
    const pattern = edit[field] ?? ''
    checkLength(field, pattern, MAX_PATTERN_CHARACTERS)
    if (CONTROL_CHARACTER.test(pattern) || expressionOf(pattern) === INVALID)
      throw new DomainError('INVALID_FIELD', { field })
  }
  const bytes = edit.max_file_bytes ?? 0
  if (bytes < 0 || bytes > MAX_FILE_BYTES)
    throw new DomainError('INVALID_FIELD', { field: 'max_file_bytes' })
}

/** Returns the rules after an edit. */
export function editedCommitRules(present: CommitRules, edit: CommitRulesEdit): CommitRules {
  return {
    commit_message_pattern: edit.commit_message_pattern ?? present.commit_message_pattern,
    commit_author_email_pattern:
      edit.commit_author_email_pattern ?? present.commit_author_email_pattern,
    branch_name_pattern: edit.branch_name_pattern ?? present.branch_name_pattern,
    max_file_bytes: edit.max_file_bytes ?? present.max_file_bytes,
  }
}

/** A new commit that a rule refuses. */
export interface RefusedCommit {
  readonly id: string
  readonly part: 'message' | 'author address'
}

/** The characters of a message that are matched, so that no commit takes long. */
const MAX_MATCHED_CHARACTERS = 8_192

/** Returns whether a rule is about the texts of commits. */
export function judgesCommits(rules: CommitRules): boolean {
  return rules.commit_message_pattern !== '' || rules.commit_author_email_pattern !== ''
}

/**
 * Returns which rule refuses a commit; undefined if none does. The messages of merges, which have
 * several parents, are left out: the programs that merge write them.
 */
export function refusedPart(
  rules: CommitRules,
  { author, message, parentIds }: RawCommit,
): RefusedCommit['part'] | undefined {
  if (!matches(rules.commit_author_email_pattern, author.email)) return 'author address'
  if (parentIds.length <= 1 && !matches(rules.commit_message_pattern, message)) return 'message'
  return undefined
}

/** Returns why a new branch may not have its name; undefined if it may. */
export function refusedName(
  { branch_name_pattern }: CommitRules,
  branch: string,
): string | undefined {
  if (matches(branch_name_pattern, branch)) return undefined
  return `branch ${branch} cannot be created, because its name does not match ${branch_name_pattern}`
}

/** Returns the message about a refused commit. */
export function commitRefusal(
  rules: CommitRules,
  branch: string,
  { id, part }: RefusedCommit,
): string {
  const pattern =
    part === 'message' ? rules.commit_message_pattern : rules.commit_author_email_pattern
  return `branch ${branch} is protected from commit ${id}, because its ${part} does not match ${pattern}`
}

/** The number of compiled patterns in memory. */
const MAX_CACHED = 1_000

const INVALID = 'invalid'

const expressions = new LRUCache<string, RE2JS | typeof INVALID>({
  max: MAX_CACHED,
  memoMethod: (pattern) => compileExpression(pattern) ?? INVALID,
})

function expressionOf(pattern: string): RE2JS | typeof INVALID {
  return expressions.memo(pattern)
}

/** A stored pattern is valid. If a newer RE2 refuses one, nothing matches and pushes are refused. */
function matches(pattern: string, text: string): boolean {
  if (pattern === '') return true
  const expression = expressionOf(pattern)
  return expression !== INVALID && expression.test(text.slice(0, MAX_MATCHED_CHARACTERS))
}
